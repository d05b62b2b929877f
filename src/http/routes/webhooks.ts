import type { Caller } from '../../domain/accounts/account.ts'
import type { RequestFailure } from '../../domain/failure.ts'
import type { Result } from '../../domain/result.ts'
import type { Webhook } from '../../domain/webhooks/webhook.ts'
import { webhookIdPattern } from '../../domain/webhooks/webhook.ts'
import { noFields } from '../../schema/extensionRequest.ts'
import { invalidValue } from '../../schema/requestFailures.ts'
import { newWebhookSchema, webhooksQuery } from '../../schema/webhookRequest.ts'
import { sendJson } from '../answers/sendBody.ts'
import type { AccountHandler, ApiParts, HttpFailure, RouteContext } from '../context.ts'
import { receiveFields, withQuery } from '../extensionRoute.ts'

/** `POST /v1/webhooks`: registers a webhook. Only this answer contains its secret. A rotation makes a new secret. */
export function registerWebhook(parts: ApiParts): AccountHandler {
  const schema = newWebhookSchema(parts.webhooks.whyNotAddress)
  return withQuery(noFields, async (context, caller) => {
    const fields = await receiveFields(parts, context, caller, schema)
    if (!fields.ok) return fields.failure
    const registered = await parts.webhooks.register(caller, fields.value)
    if (!registered.ok) return registered.failure
    const { webhook, secret } = registered.value
    sendJson(context, 201, { ...webhookRecord(webhook), secret })
    return undefined
  })
}

/** `GET /v1/webhooks`: lists the caller's webhooks, newest first. There are at most five. */
export function listWebhooks(parts: ApiParts): AccountHandler {
  return withQuery(webhooksQuery, async (context, caller, { limit, after }) => {
    const webhooks = await parts.webhooks.list(caller)
    const last = webhooks.findIndex(({ webhookId }) => webhookId === after)
    if (after !== undefined && last === -1) {
      return invalidValue('after', 'the account has no webhook with this id')
    }
    const rest = webhooks.slice(last + 1)
    const data = rest.slice(0, limit).map(webhookRecord)
    sendJson(context, 200, { object: 'list', data, has_more: rest.length > limit })
    return undefined
  })
}

/** `GET /v1/webhooks/{id}`. */
export function getWebhook(parts: ApiParts): AccountHandler {
  return withQuery(noFields, (context, caller) =>
    answer(context, parts.webhooks.read(caller, webhookIdOf(context)), (webhook) => [
      200,
      webhookRecord(webhook),
    ]),
  )
}

/**
 * `DELETE /v1/webhooks/{id}`: deletes a webhook and ends its pending deliveries as failed. A try that was under way
 * can still arrive within its 15 seconds.
 */
export function deleteWebhook(parts: ApiParts): AccountHandler {
  return withoutFields(parts, (context, caller) => {
    const webhookId = webhookIdOf(context)
    return answer(context, parts.webhooks.remove(caller, webhookId), () => [
      200,
      { webhook_id: webhookId, deleted: true },
    ])
  })
}

/** `POST /v1/webhooks/{id}/rotate`: answers with a new secret. For 24 hours the previous secret signs as well. */
export function rotateWebhookSecret(parts: ApiParts): AccountHandler {
  return withoutFields(parts, (context, caller) =>
    answer(context, parts.webhooks.rotate(caller, webhookIdOf(context)), ({ webhook, secret }) => [
      200,
      { ...webhookRecord(webhook), secret },
    ]),
  )
}

/** `POST /v1/webhooks/{id}/enable`. */
export function enableWebhook(parts: ApiParts): AccountHandler {
  return withoutFields(parts, (context, caller) =>
    answer(context, parts.webhooks.enable(caller, webhookIdOf(context)), (webhook) => [
      200,
      webhookRecord(webhook),
    ]),
  )
}

function webhookRecord({ webhookId, url, events, status, createdAtMs }: Webhook) {
  const createdAt = new Date(createdAtMs).toISOString()
  return { webhook_id: webhookId, url, events, status, created_at: createdAt }
}

/** Returns the webhook id of the path. For a text that is no id, returns an id that no webhook has. */
export function webhookIdOf({ params }: RouteContext): string {
  const { webhookId = '' } = params
  return webhookIdPattern.test(webhookId) ? webhookId : ''
}

/** Makes the handler of an extension route that has no parameters and no body fields. */
export function withoutFields(parts: ApiParts, handle: AccountHandler): AccountHandler {
  return withQuery(noFields, async (context, caller: Caller) => {
    const fields = await receiveFields(parts, context, caller, noFields)
    return fields.ok ? handle(context, caller) : fields.failure
  })
}

/** Sends the status and the body that `describe` makes of a result, or returns its failure. */
export async function answer<Value>(
  context: RouteContext,
  asked: Promise<Result<Value, RequestFailure>>,
  describe: (value: Value) => readonly [status: number, body: object],
): Promise<HttpFailure | undefined> {
  const result = await asked
  if (!result.ok) return result.failure
  sendJson(context, ...describe(result.value))
  return undefined
}
