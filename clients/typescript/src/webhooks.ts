import type {
  ListDeliveriesQuery,
  ListWebhooksQuery,
  ListedTask,
  RegisterWebhookBody,
  Webhook,
  WebhookDelivery,
  WebhookWithSecret,
} from './apiTypes.ts'
import type { CallOptions, Caller } from './callOptions.ts'
import { DarkroomError } from './darkroomError.ts'
import type { Rows } from './pages.ts'
import { listRows } from './pages.ts'
import { environmentVariable } from './runtime.ts'
import type { DeliveryHeaders } from './signature.ts'
import { signatureHeaders, verifySignature } from './signature.ts'
import type { Call, Try } from './transport.ts'
import { readJson } from './transport.ts'

/** What a webhook is told. */
export type WebhookEvent = { readonly timestamp: string } & (
  | { readonly type: 'task.succeeded' | 'task.failed'; readonly data: ListedTask }
  | {
      readonly type: 'account.balance_low'
      readonly data: { readonly available: number; readonly threshold: number }
    }
  | {
      readonly type: 'key.budget_reached'
      readonly data: {
        readonly key_id: string
        /** Credits and period, such as `5000/day`. */
        readonly budget: string
        readonly used: number
        readonly percent: number
      }
    }
  | { readonly type: 'webhook.test'; readonly data: Readonly<Record<string, unknown>> }
)

type DeletedWebhook = { readonly webhook_id: string; readonly deleted: true }

const defaultToleranceMs = 300_000

/** Webhooks: registers them, reads their deliveries, and checks what a receiver got. */
export function createWebhooks(caller: Caller) {
  const pathOf = (webhookId: string, more = '') =>
    `/v1/webhooks/${encodeURIComponent(webhookId)}${more}`
  const get = <Body>(path: string, options: CallOptions) =>
    caller.json<Body>({ method: 'GET', path }, options)
  /** A second request would make a second webhook, secret or delivery. */
  const post = <Body>(path: string, options: CallOptions, body?: object) =>
    caller.json<Body>(
      {
        method: 'POST',
        path,
        once: true,
        ...(body === undefined ? {} : { json: JSON.stringify(body) }),
      },
      options,
    )

  return {
    /** Registers a webhook. The secret is in this answer alone. */
    async create(body: RegisterWebhookBody, options: CallOptions = {}): Promise<WebhookWithSecret> {
      return post('/v1/webhooks', options, body)
    },
    list(query: ListWebhooksQuery = {}, options: CallOptions = {}): Rows<Webhook> {
      const idOf = (row: Webhook) => row.webhook_id
      return listRows(caller, { path: '/v1/webhooks', query, idOf }, options)
    },
    async get(webhookId: string, options: CallOptions = {}): Promise<Webhook> {
      return get(pathOf(webhookId), options)
    },
    /** Deletes a webhook. What is pending ends as failed. */
    async delete(webhookId: string, options: CallOptions = {}): Promise<DeletedWebhook> {
      const { transport, begin } = caller
      const repeating = begin(options)
      let isLost = false
      const onTry = (seen: Try) => {
        isLost ||= seen.status === undefined || seen.status >= 500
        repeating.onTry?.(seen)
      }
      const call: Call = { method: 'DELETE', path: pathOf(webhookId) }
      try {
        return (await transport.send(call, { ...repeating, onTry }, readJson<DeletedWebhook>)).body
      } catch (error) {
        // The try whose answer was lost has deleted it.
        const isGone = error instanceof DarkroomError && error.code === 'webhook_not_found'
        if (isLost && isGone) return { webhook_id: webhookId, deleted: true }
        throw error
      }
    },
    /** Makes a new secret. For 24 hours both sign. */
    async rotate(webhookId: string, options: CallOptions = {}): Promise<WebhookWithSecret> {
      return post(pathOf(webhookId, '/rotate'), options)
    },
    /** Enables a webhook that a 410 or the operator disabled. */
    async enable(webhookId: string, options: CallOptions = {}): Promise<Webhook> {
      return post(pathOf(webhookId, '/enable'), options)
    },
    /** Sends a `webhook.test`. */
    async test(webhookId: string, options: CallOptions = {}): Promise<WebhookDelivery> {
      return post(pathOf(webhookId, '/test'), options)
    },
    /** Lists the deliveries of a webhook with their tries, newest first. */
    deliveries(
      webhookId: string,
      query: ListDeliveriesQuery = {},
      options: CallOptions = {},
    ): Rows<WebhookDelivery> {
      const idOf = (row: WebhookDelivery) => row.delivery_id
      return listRows(caller, { path: pathOf(webhookId, '/deliveries'), query, idOf }, options)
    },
    /** Sends an event again, under the same `webhook-id`. */
    async redeliver(
      webhookId: string,
      deliveryId: string,
      options: CallOptions = {},
    ): Promise<WebhookDelivery> {
      const path = `/deliveries/${encodeURIComponent(deliveryId)}/redeliver`
      return post(pathOf(webhookId, path), options)
    },
    /**
     * Returns the event in a delivery, once its signature was checked. `body` are the bytes as they arrived. Throws
     * `invalid_signature`. The secret is DARKROOM_WEBHOOK_SECRET unless it is given.
     */
    async unwrap(
      body: string | Uint8Array,
      headers: DeliveryHeaders,
      secret = environmentVariable('DARKROOM_WEBHOOK_SECRET') ?? '',
      { toleranceMs = defaultToleranceMs } = {},
    ): Promise<WebhookEvent> {
      await verifySignature(body, headers, { secret, toleranceMs })
      const text = typeof body === 'string' ? body : new TextDecoder().decode(body)
      const event: WebhookEvent = JSON.parse(text)
      return event
    },
    /** Returns the headers that a delivery of this body would have, for tests of a receiver. */
    async sign(body: string, secret: string, { id = 'whd_test', at = new Date() } = {}) {
      return signatureHeaders(body, { secret, id, at })
    },
  }
}
