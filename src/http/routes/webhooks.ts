import { fail, mapValue, succeed } from '../../domain/result.ts'
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
import type { ApiParts, RouteContext } from '../context.ts'
import { jsonRoute } from '../extensionRoute.ts'
import type { Route } from '../route.ts'

const params = { webhook_id: webhookId }

/** The routes with which an account manages its webhooks. */
export const webhookRoutes: readonly Route<ApiParts>[] = [
  jsonRoute({
    method: 'POST',
    path: '/v1/webhooks',
    id: 'registerWebhook',
    summary: 'Register a webhook',
    description:
      'This answer alone contains the secret. An account has at most five webhooks. The address must be `https`, unless the operator allows private addresses.',
    input: newWebhook,
    answer: [201, 'The webhook and its secret.', webhookWithSecret],
    errors: ['too_many_webhooks'],
    run: async ({ webhooks }, { caller, input }) => {
      const why = webhooks.whyNotAddress(input.url)
      if (why !== undefined) return fail(invalidValue('url', why))
      return mapValue(await webhooks.register(caller, input), withSecret)
    },
  }),
  jsonRoute({
    method: 'GET',
    path: '/v1/webhooks',
    id: 'listWebhooks',
    summary: 'List the webhooks of the account',
    input: webhooksQuery,
    answer: [200, 'Webhooks, newest first.', webhookList],
    run: async (parts, { caller, input: { limit, after } }) => {
      // There are at most five.
      const webhooks = await parts.webhooks.list(caller)
      const last = webhooks.findIndex(({ webhookId }) => webhookId === after)
      if (after !== undefined && last === -1) {
        return fail(invalidValue('after', 'the account has no webhook with this id'))
      }
      const rest = webhooks.slice(last + 1)
      const data = rest.slice(0, limit).map(webhookRecord)
      return succeed({ object: 'list', data, has_more: rest.length > limit })
    },
  }),
  jsonRoute({
    method: 'GET',
    path: '/v1/webhooks/{webhook_id}',
    id: 'getWebhook',
    summary: 'Read a webhook',
    params,
    answer: [200, 'The webhook.', webhook],
    errors: ['webhook_not_found'],
    run: async ({ webhooks }, { caller, context }) =>
      mapValue(await webhooks.read(caller, webhookIdOf(context)), webhookRecord),
  }),
  jsonRoute({
    method: 'DELETE',
    path: '/v1/webhooks/{webhook_id}',
    id: 'deleteWebhook',
    summary: 'Delete a webhook',
    description:
      'Its pending deliveries end as failed. A try that was under way can still arrive in the next 15 seconds.',
    params,
    answer: [200, 'The webhook is deleted.', deletedWebhook],
    errors: ['webhook_not_found'],
    run: async ({ webhooks }, { caller, context }) => {
      const webhookId = webhookIdOf(context)
      const deleted = () => ({ webhook_id: webhookId, deleted: true })
      return mapValue(await webhooks.remove(caller, webhookId), deleted)
    },
  }),
  jsonRoute({
    method: 'POST',
    path: '/v1/webhooks/{webhook_id}/rotate',
    id: 'rotateWebhookSecret',
    summary: 'Replace the secret of a webhook',
    description:
      'For 24 hours deliveries have two signatures, of the new and of the former secret.',
    params,
    answer: [200, 'The webhook and its new secret.', webhookWithSecret],
    errors: ['webhook_not_found'],
    run: async ({ webhooks }, { caller, context }) =>
      mapValue(await webhooks.rotate(caller, webhookIdOf(context)), withSecret),
  }),
  jsonRoute({
    method: 'POST',
    path: '/v1/webhooks/{webhook_id}/enable',
    id: 'enableWebhook',
    summary: 'Enable a disabled webhook',
    description: 'Ends from before are not delivered, but can be redelivered one by one.',
    params,
    answer: [200, 'The webhook.', webhook],
    errors: ['webhook_not_found'],
    run: async ({ webhooks }, { caller, context }) =>
      mapValue(await webhooks.enable(caller, webhookIdOf(context)), webhookRecord),
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
