import type { Pool } from 'pg'
import type { WebhookKey } from './webhookSecret.ts'
import { webhookSecret } from './webhookSecret.ts'
import type { Caller } from '../../domain/accounts/account.ts'
import type { RequestFailure } from '../../domain/failure.ts'
import type { DeliveryJson, DeliveryPage } from '../../store/webhooks/deliveries.ts'
import * as deliveries from '../../store/webhooks/deliveries.ts'
import type { Webhook } from '../../store/webhooks/webhookRows.ts'
import * as webhooks from '../../store/webhooks/webhookRows.ts'
import type { ListPage } from '../../domain/lists/list.ts'
import type { Result } from '../../domain/result.ts'
import { fail, mapValue, succeed } from '../../domain/result.ts'
import type { SecretVersion, WebhookEvent } from '../../domain/webhooks/webhook.ts'
import { newWebhookId } from '../../domain/webhooks/webhook.ts'

/** What accounts do with their webhooks. A webhook of another account is not found, as if it did not exist. */
export type WebhookService = ReturnType<typeof createWebhookService>

type WithSecret = Webhook & { readonly secret: string }

type WebhookServiceDeps = {
  readonly pool: Pool
  /** Returns why a text cannot be the address of a webhook, or `undefined`. */
  readonly whyNotAddress: (text: string) => string | undefined
  /** The keys of WEBHOOK_KEYS. New secrets are computed from the first key. */
  readonly keys: readonly [WebhookKey, ...WebhookKey[]]
}

/** Creates the functions that the webhook routes share. */
export function createWebhookService(deps: WebhookServiceDeps) {
  const { pool, keys } = deps
  const [key] = keys
  const withSecret = (webhook: Webhook, version: SecretVersion): WithSecret => ({
    ...webhook,
    secret: webhookSecret(keys, webhook.webhook_id, version),
  })

  async function read(caller: Caller, webhookId: string): Promise<Result<Webhook, RequestFailure>> {
    return found(await webhooks.readWebhook(pool, caller.accountId, webhookId))
  }

  return {
    whyNotAddress: deps.whyNotAddress,
    register: async (
      { accountId }: Caller,
      { url, events }: { readonly url: string; readonly events: readonly WebhookEvent[] },
    ): Promise<Result<WithSecret, RequestFailure>> => {
      const secret = { keyId: key.id, version: 1 }
      const webhook = await webhooks.insertWebhook(pool, {
        webhookId: newWebhookId(),
        accountId,
        url,
        events,
        secret,
      })
      return webhook === undefined
        ? fail({ tag: 'too_many_webhooks' })
        : succeed(withSecret(webhook, secret))
    },
    list: ({ accountId }: Caller) => webhooks.listWebhooks(pool, accountId),
    read,
    remove: async (
      { accountId }: Caller,
      webhookId: string,
    ): Promise<Result<null, RequestFailure>> => {
      const removed = await webhooks.endWebhook(pool, webhookId, 'deleted', accountId)
      return removed ? succeed(null) : fail({ tag: 'webhook_not_found' })
    },
    /** Returns the webhook with a new secret. For 24 hours the previous secret signs too. */
    rotate: async (
      { accountId }: Caller,
      webhookId: string,
    ): Promise<Result<WithSecret, RequestFailure>> => {
      const rotated = found(await webhooks.rotateSecret(pool, accountId, webhookId, key.id))
      return mapValue(rotated, ({ webhook, version }) =>
        withSecret(webhook, { keyId: key.id, version }),
      )
    },
    enable: async ({ accountId }: Caller, webhookId: string) =>
      found(await webhooks.enableWebhook(pool, accountId, webhookId)),
    test: async (
      caller: Caller,
      webhookId: string,
    ): Promise<Result<DeliveryJson, RequestFailure>> => {
      const webhook = await read(caller, webhookId)
      if (!webhook.ok) return webhook
      const delivery = await deliveries.insertTestDelivery(pool, webhookId)
      if (delivery === 'disabled') return fail({ tag: 'webhook_disabled' })
      if (delivery === 'too_many') return fail({ tag: 'too_many_tests' })
      return succeed(delivery)
    },
    deliveries: async (
      caller: Caller,
      webhookId: string,
      page: DeliveryPage,
    ): Promise<Result<ListPage<DeliveryJson>, RequestFailure>> => {
      const webhook = await read(caller, webhookId)
      if (!webhook.ok) return webhook
      return succeed(await deliveries.listDeliveries(pool, webhookId, page))
    },
    redeliver: async (
      caller: Caller,
      webhookId: string,
      deliveryId: string,
    ): Promise<Result<DeliveryJson, RequestFailure>> => {
      const webhook = await read(caller, webhookId)
      if (!webhook.ok) return webhook
      const delivery = await deliveries.redeliver(pool, deliveryId, webhookId)
      if (delivery === 'missing') return fail({ tag: 'delivery_not_found' })
      return delivery === 'disabled' ? fail({ tag: 'webhook_disabled' }) : succeed(delivery)
    },
  }
}

function found<Found>(value: Found | undefined): Result<Found, RequestFailure> {
  return value === undefined ? fail({ tag: 'webhook_not_found' }) : succeed(value)
}
