import type { Pool } from 'pg'
import type { ListPage } from '../../domain/lists/list.ts'
import type { AnswerOf } from '../../schema/answerOf.ts'
import type { webhook } from '../../schema/operators/operatorWebhooks.ts'
import { isoSql } from '../isoSql.ts'
import type { Page } from '../readPage.ts'
import { readPage } from '../readPage.ts'

/** A webhook as operators see it. */
export type WebhookJson = AnswerOf<typeof webhook>

/** Returns the webhooks of the account with this name, or of all, newest first. */
export async function listAllWebhooks(
  pool: Pool,
  { account, ...page }: Page & { readonly account?: string },
): Promise<ListPage<WebhookJson>> {
  return readPage<WebhookJson>(pool, page, {
    table: 'webhook',
    order: ['webhook.created_at', 'webhook_id'],
    direction: 'desc',
    filter: [[notDeleted], ['account.name = ?', account]],
    select: (where, newest) => `${webhookSql} ${where} ${newest}`,
  })
}

/** Returns the webhook with this id, or `undefined` when there is none or it is deleted. */
export async function readWebhook(pool: Pool, webhookId: string): Promise<WebhookJson | undefined> {
  const { rows } = await pool.query<WebhookJson>(
    `${webhookSql} where ${notDeleted} and webhook_id = $1`,
    [webhookId],
  )
  return rows[0]
}

const notDeleted = `webhook.status <> 'deleted'`

const webhookSql = `
  select webhook_id, account.name as account, url, webhook.status, key_id,
    ${isoSql('webhook.created_at', 'MS')} as created_at, pending,
    ${isoSql('oldest', 'MS')} as oldest_pending_at, ${isoSql('failing_since', 'MS')} as failing_since
  from webhook join account using (account_id)
  cross join lateral (
    select count(*)::int as pending, min(d.created_at) as oldest from webhook_delivery d
    where d.webhook_id = webhook.webhook_id and d.status = 'pending') p`

/** Returns whether there is such a webhook. A deleted one is kept as long as it has deliveries. */
export async function hasWebhook(pool: Pool, webhookId: string): Promise<boolean> {
  const { rowCount } = await pool.query('select from webhook where webhook_id = $1', [webhookId])
  return rowCount === 1
}
