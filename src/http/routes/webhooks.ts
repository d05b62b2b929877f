import type { RequestFailure } from '../../domain/failure.ts'
import type { Result } from '../../domain/result.ts'
import type { Webhook } from '../../domain/webhooks/webhook.ts'
import { webhookIdPattern } from '../../domain/webhooks/webhook.ts'
import {
  deletedWebhook,
  webhook,
  webhookId,
  webhookList,
  webhookWithSecret,
} from '../../schema/answers/webhook.ts'
import { invalidValue } from '../../schema/requestFailures.ts'
import { newWebhook, webhooksQuery } from '../../schema/webhookRequest.ts'
import { sendJson } from '../answers/sendBody.ts'
import type { ApiParts, HttpFailure, RouteContext } from '../context.ts'
import { extensionRoute } from '../extensionRoute.ts'
import type { Route } from '../route.ts'
import { json } from '../route.ts'

const params = { webhook_id: webhookId }

/** The routes with which an account manages its webhooks. */
export const webhookRoutes: readonly Route<ApiParts>[] = [
  extensionRoute({
    method: 'POST',
    path: '/v1/webhooks',
    id: 'registerWebhook',
    summary: 'Register a webhook',
    description:
      'This answer alone contains the secret. An account has at most five webhooks. The address must be `https`, unless the operator allows private addresses.',
    input: newWebhook,
    answers: {
      201: { description: 'The webhook and its secret.', content: json(webhookWithSecret) },
    },
    errors: ['too_many_webhooks'],
    handler:
      ({ webhooks }) =>
      async (context, caller, fields) => {
        const why = webhooks.whyNotAddress(fields.url)
        if (why !== undefined) return invalidValue('url', why)
        return answer(context, webhooks.register(caller, fields), 201, withSecret)
      },
  }),
  extensionRoute({
    method: 'GET',
    path: '/v1/webhooks',
    id: 'listWebhooks',
    summary: 'List the webhooks of the account',
    input: webhooksQuery,
    answers: { 200: { description: 'Webhooks, newest first.', content: json(webhookList) } },
    handler:
      (parts) =>
      async (context, caller, { limit, after }) => {
        // There are at most five.
        const webhooks = await parts.webhooks.list(caller)
        const last = webhooks.findIndex(({ webhookId }) => webhookId === after)
        if (after !== undefined && last === -1) {
          return invalidValue('after', 'the account has no webhook with this id')
        }
        const rest = webhooks.slice(last + 1)
        const data = rest.slice(0, limit).map(webhookRecord)
        sendJson(context, 200, { object: 'list', data, has_more: rest.length > limit })
        return undefined
      },
  }),
  extensionRoute({
    method: 'GET',
    path: '/v1/webhooks/{webhook_id}',
    id: 'getWebhook',
    summary: 'Read a webhook',
    params,
    answers: { 200: { description: 'The webhook.', content: json(webhook) } },
    errors: ['webhook_not_found'],
    handler: (parts) => (context, caller) =>
      answer(context, parts.webhooks.read(caller, webhookIdOf(context)), 200, webhookRecord),
  }),
  extensionRoute({
    method: 'DELETE',
    path: '/v1/webhooks/{webhook_id}',
    id: 'deleteWebhook',
    summary: 'Delete a webhook',
    description:
      'Its pending deliveries end as failed. A try that was under way can still arrive in the next 15 seconds.',
    params,
    answers: { 200: { description: 'The webhook is deleted.', content: json(deletedWebhook) } },
    errors: ['webhook_not_found'],
    handler: (parts) => (context, caller) => {
      const webhookId = webhookIdOf(context)
      const deleted = () => ({ webhook_id: webhookId, deleted: true })
      return answer(context, parts.webhooks.remove(caller, webhookId), 200, deleted)
    },
  }),
  extensionRoute({
    method: 'POST',
    path: '/v1/webhooks/{webhook_id}/rotate',
    id: 'rotateWebhookSecret',
    summary: 'Replace the secret of a webhook',
    description:
      'For 24 hours deliveries have two signatures, of the new and of the former secret.',
    params,
    answers: {
      200: { description: 'The webhook and its new secret.', content: json(webhookWithSecret) },
    },
    errors: ['webhook_not_found'],
    handler: (parts) => (context, caller) =>
      answer(context, parts.webhooks.rotate(caller, webhookIdOf(context)), 200, withSecret),
  }),
  extensionRoute({
    method: 'POST',
    path: '/v1/webhooks/{webhook_id}/enable',
    id: 'enableWebhook',
    summary: 'Enable a disabled webhook',
    description: 'Ends from before are not delivered, but can be redelivered one by one.',
    params,
    answers: { 200: { description: 'The webhook.', content: json(webhook) } },
    errors: ['webhook_not_found'],
    handler: (parts) => (context, caller) =>
      answer(context, parts.webhooks.enable(caller, webhookIdOf(context)), 200, webhookRecord),
  }),
]

function webhookRecord({ webhookId, url, events, status, createdAtMs }: Webhook) {
  const createdAt = new Date(createdAtMs).toISOString()
  return { webhook_id: webhookId, url, events, status, created_at: createdAt }
}

function withSecret({ webhook, secret }: { readonly webhook: Webhook; readonly secret: string }) {
  return { ...webhookRecord(webhook), secret }
}

/** Returns the webhook id of the path. For a text that is no id, returns an id that no webhook has. */
export function webhookIdOf({ params }: RouteContext): string {
  const { webhookId = '' } = params
  return webhookIdPattern.test(webhookId) ? webhookId : ''
}

/** Sends the status and the body that `describe` makes of a result, or returns its failure. */
export async function answer<Value>(
  context: RouteContext,
  asked: Promise<Result<Value, RequestFailure>>,
  status: number,
  describe: (value: Value) => object,
): Promise<HttpFailure | undefined> {
  const result = await asked
  if (!result.ok) return result.failure
  sendJson(context, status, describe(result.value))
  return undefined
}
