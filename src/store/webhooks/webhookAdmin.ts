import type { Pool } from 'pg'
import type { AnswerOf } from '../../schema/answerOf.ts'
import type { webhook } from '../../schema/operators/webhooks.ts'
import { isoSql } from '../isoSql.ts'

/** A webhook as operators see it. */
export type WebhookJson = AnswerOf<typeof webhook>

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
): Promise<readonly WebhookJson[]> {
  const { rows } = await pool.query<WebhookJson>(
    `select w.webhook_id, a.name as account, w.url, w.status, w.key_id,
       ${isoSql('w.created_at', 'MS')} as created_at, p.pending,
       ${isoSql('p.oldest', 'MS')} as oldest_pending_at, ${isoSql('w.failing_since', 'MS')} as failing_since
     from webhook w join account a using (account_id)
     cross join lateral (
       select count(*)::int as pending, min(d.created_at) as oldest from webhook_delivery d
       where d.webhook_id = w.webhook_id and d.status = 'pending') p
     where w.status <> 'deleted' and ($1::text is null or a.name = $1) and ($2::text is null or
       (w.created_at, w.webhook_id) < (select created_at, webhook_id from webhook where webhook_id = $2))
     order by w.created_at desc, w.webhook_id desc limit $3`,
    [account ?? null, after ?? null, limit ?? null],
  )
  return rows
}

/** Returns whether there is such a webhook. A deleted one is kept as long as it has deliveries. */
export async function hasWebhook(pool: Pool, webhookId: string): Promise<boolean> {
  const { rowCount } = await pool.query('select from webhook where webhook_id = $1', [webhookId])
  return rowCount === 1
}
