import type { Pool, PoolClient } from 'pg'
import type { Delivery } from '../../domain/webhooks/delivery.ts'
import { defined } from '../../domain/defined.ts'
import { redeliver } from './deliveries.ts'

/** A webhook as `webhook list` shows it. */
export type ListedWebhook = {
  readonly webhookId: string
  readonly account: string
  readonly url: string
  readonly status: 'active' | 'disabled'
  readonly createdAtMs: number
  /** The id of the key in WEBHOOK_KEYS from which its secret is computed. */
  readonly keyId: string
  /** How many deliveries are pending, and when the oldest of them was made. */
  readonly pending: number
  readonly oldestPendingMs?: number
  /** Absent when the last try was delivered, and before the first try. */
  readonly failingSinceMs?: number
}

export type RedeliverResult =
  | { readonly kind: 'due'; readonly delivery: Delivery }
  | { readonly kind: 'missing' }
  | { readonly kind: 'disabled' }

type ListedRow = Omit<ListedWebhook, 'failingSinceMs' | 'oldestPendingMs'> & {
  readonly failingSinceMs: number | null
  readonly oldestPendingMs: number | null
}

/** One page of webhooks. `after` is the id of the last one of the page before. An absent field limits nothing. */
export type WebhookPage = {
  /** The name of their account. */
  readonly account?: string
  readonly after?: string
  readonly limit?: number
}

/** Returns the webhooks that match, newest first. */
export async function listAllWebhooks(
  pool: Pool,
  { account, after, limit }: WebhookPage = {},
): Promise<readonly ListedWebhook[]> {
  const { rows } = await pool.query<ListedRow>(
    `select w.webhook_id as "webhookId", a.name as account, w.url, w.status, p.pending,
       w.key_id as "keyId",
       (extract(epoch from w.created_at) * 1000)::float8 as "createdAtMs",
       (extract(epoch from w.failing_since) * 1000)::float8 as "failingSinceMs",
       (extract(epoch from p.oldest) * 1000)::float8 as "oldestPendingMs"
     from webhook w join account a using (account_id)
     cross join lateral (
       select count(*)::int as pending, min(d.created_at) as oldest from webhook_delivery d
       where d.webhook_id = w.webhook_id and d.status = 'pending') p
     where w.status <> 'deleted' and ($1::text is null or a.name = $1) and ($2::text is null or
       (w.created_at, w.webhook_id) < (select created_at, webhook_id from webhook where webhook_id = $2))
     order by w.created_at desc, w.webhook_id desc limit $3`,
    [account ?? null, after ?? null, limit ?? null],
  )
  return rows.map(({ failingSinceMs, oldestPendingMs, ...row }) => ({
    ...row,
    ...defined({ failingSinceMs, oldestPendingMs }),
  }))
}

/** Returns whether there is such a webhook. A deleted one is kept as long as it has deliveries. */
export async function hasWebhook(pool: Pool, webhookId: string): Promise<boolean> {
  const { rowCount } = await pool.query('select from webhook where webhook_id = $1', [webhookId])
  return rowCount === 1
}

/** Makes a delivery due now, as the API's route does. A delivery of a deleted webhook counts as missing. */
export async function redeliverAny(
  client: Pool | PoolClient,
  deliveryId: string,
): Promise<RedeliverResult> {
  const { rows } = await client.query<{ webhookId: string }>(
    `select webhook_id as "webhookId" from webhook_delivery join webhook using (webhook_id)
     where delivery_id = $1 and webhook.status <> 'deleted'`,
    [deliveryId],
  )
  const webhookId = rows[0]?.webhookId
  if (webhookId === undefined) return { kind: 'missing' }
  const delivery = await redeliver(client, webhookId, deliveryId)
  return delivery === undefined ? { kind: 'disabled' } : { kind: 'due', delivery }
}
