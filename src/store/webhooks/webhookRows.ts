import type { Pool, PoolClient } from 'pg'
import type { SecretVersion, WebhookEvent } from '../../domain/webhooks/webhook.ts'
import { rotationMs, webhooksMax } from '../../domain/webhooks/webhook.ts'
import type { AnswerOf } from '../../schema/answerOf.ts'
import type { webhook } from '../../schema/answers/webhookAnswer.ts'
import { runStatement, withTransaction } from '../connection/transaction.ts'
import { isoSql } from '../isoSql.ts'

/** A webhook as its account sees it. */
export type Webhook = AnswerOf<typeof webhook>

export type NewWebhook = {
  readonly webhookId: string
  readonly accountId: string
  readonly url: string
  readonly events: readonly WebhookEvent[]
  readonly secret: SecretVersion
}

/** Inserts a webhook. Returns `undefined` when the account has `webhooksMax` webhooks already. */
export async function insertWebhook(pool: Pool, webhook: NewWebhook): Promise<Webhook | undefined> {
  const { webhookId, accountId, url, events, secret } = webhook
  return withTransaction(pool, async (client) => {
    // Two inserts of one account take turns, so that the second one counts the first.
    await client.query('select from account where account_id = $1 for no key update', [accountId])
    const counted = await client.query(
      `select from webhook where account_id = $1 and status <> 'deleted'`,
      [accountId],
    )
    if ((counted.rowCount ?? 0) >= webhooksMax) return undefined
    const { rows } = await client.query<Webhook>(
      `insert into webhook (webhook_id, account_id, url, events, key_id, version)
       values ($1, $2, $3, $4, $5, $6) returning ${webhookColumns}`,
      [webhookId, accountId, url, events, secret.keyId, secret.version],
    )
    return rows[0]
  })
}

/** Returns the webhooks of an account, newest first. There are at most `webhooksMax`. */
export async function listWebhooks(pool: Pool, accountId: string): Promise<readonly Webhook[]> {
  const { rows } = await pool.query<Webhook>(
    `select ${webhookColumns} from webhook where account_id = $1 and status <> 'deleted'
     order by webhook.created_at desc, webhook_id desc`,
    [accountId],
  )
  return rows
}

/** Returns a webhook of the account, or `undefined` when the account has no such webhook. */
export async function readWebhook(
  pool: Pool,
  accountId: string,
  webhookId: string,
): Promise<Webhook | undefined> {
  const { rows } = await pool.query<Webhook>(
    `select ${webhookColumns} from webhook where ${ownSql}`,
    [accountId, webhookId],
  )
  return rows[0]
}

/**
 * Enables a webhook. First ends what is still pending of the time before, so that enabling revives nothing. Returns
 * `undefined` when the account has no such webhook.
 */
export async function enableWebhook(
  pool: Pool,
  accountId: string,
  webhookId: string,
): Promise<Webhook | undefined> {
  if ((await readWebhook(pool, accountId, webhookId)) === undefined) return undefined
  while ((await endPending(pool, webhookId)) > 0);
  const { rows } = await pool.query<Webhook>(
    `update webhook set status = 'active' where ${ownSql} returning ${webhookColumns}`,
    [accountId, webhookId],
  )
  return rows[0]
}

/**
 * Gives a webhook a new secret, computed from the given key. For `rotationMs`, the previous secret signs too.
 * Returns the webhook and the version of the secret, or `undefined` when the account has no such webhook.
 */
export async function rotateSecret(
  pool: Pool,
  accountId: string,
  webhookId: string,
  keyId: string,
): Promise<{ readonly webhook: Webhook; readonly version: number } | undefined> {
  const { rows } = await pool.query<Webhook & { readonly version: number }>(
    `update webhook set previous_key_id = key_id, key_id = $3, version = version + 1,
       previous_until = clock_timestamp() + $4 * interval '1 millisecond'
     where ${ownSql} returning ${webhookColumns}, version`,
    [accountId, webhookId, keyId, rotationMs],
  )
  if (rows[0] === undefined) return undefined
  const { version, ...rotated } = rows[0]
  return { webhook: rotated, version }
}

/**
 * Disables or deletes a webhook, and ends what it has pending. With `accountId`, only a webhook of that account.
 * Returns false when there is no such webhook.
 */
export async function endWebhook(
  pool: Pool,
  webhookId: string,
  status: 'disabled' | 'deleted',
  accountId?: string,
): Promise<boolean> {
  if (!(await closeWebhook(pool, webhookId, status, accountId))) return false
  await endPending(pool, webhookId)
  return true
}

/** Does the same as `endWebhook`, but leaves what is pending: call `endPending` after the commit. */
export async function closeWebhook(
  client: Pool | PoolClient,
  webhookId: string,
  status: 'disabled' | 'deleted',
  accountId?: string,
): Promise<boolean> {
  const { rowCount } = await client.query(
    `update webhook set status = $2, url = case when $2 = 'deleted' then '' else url end
     where webhook_id = $1 and status <> 'deleted' and ($3::text is null or account_id = $3)`,
    [webhookId, status, accountId ?? null],
  )
  return rowCount === 1
}

/** How many deliveries one statement ends. So it ends in time, and keeps locks only briefly. */
const endBatch = 20_000

/**
 * Ends up to `endBatch` pending deliveries of webhooks that are not active as failed: of this webhook, or of all.
 * Returns how many. Call it after the commit that disabled or deleted the webhook. From that commit on no worker claims
 * a delivery. A receiver that was unreachable for days can have a million of them. The reconciler ends those that are
 * left, and those of tasks that ended at the same moment.
 */
export async function endPending(pool: Pool, webhookId?: string): Promise<number> {
  const ended = await runStatement<{ count: number }>(pool, {
    name: 'end-pending',
    text: endPendingSql,
    values: [webhookId ?? null, endBatch],
  })
  return ended[0]?.count ?? 0
}

// A pending delivery has a next try. With `status = 'pending'`, a plan made on an empty table would read all pending
// deliveries for each of them, by the index `webhook_delivery_due`.
const endPendingSql = `
  with chosen as materialized (
    select each.delivery_id as chosen_id from webhook w cross join lateral (
      select delivery_id from webhook_delivery
      where webhook_id = w.webhook_id and status = 'pending' limit $2) each
    where w.status <> 'active' and ($1::text is null or w.webhook_id = $1) limit $2
  ), ended as (
    update webhook_delivery set status = 'failed', next_attempt_at = null, claimed_until = null
    from chosen where delivery_id = chosen_id and next_attempt_at is not null
    returning 1)
  select count(*)::int as count from ended`

/** Deletes deleted webhooks whose only deliveries are ended tests, which no purge deletes. Returns how many. */
export async function forgetWebhooks(pool: Pool): Promise<number> {
  const { rowCount } = await pool.query(
    `with done as materialized (
       select webhook_id as done_id from webhook w
       where status = 'deleted' and not exists (
         select from webhook_delivery d
         where d.webhook_id = w.webhook_id and (event <> 'webhook.test' or d.status = 'pending'))
     ), tests as (
       delete from webhook_delivery using done where webhook_id = done_id
     )
     delete from webhook using done where webhook_id = done_id`,
  )
  return rowCount ?? 0
}

/** Returns the ids of the keys in WEBHOOK_KEYS from which the secrets of webhooks are computed now. */
export async function neededKeyIds(pool: Pool): Promise<readonly string[]> {
  const { rows } = await pool.query<{ keyId: string }>(
    `select key_id as "keyId" from webhook where status <> 'deleted'
     union
     select previous_key_id from webhook
     where status <> 'deleted' and previous_until > clock_timestamp()`,
  )
  return rows.map(({ keyId }) => keyId)
}

const ownSql = `account_id = $1 and webhook_id = $2 and status <> 'deleted'`

const webhookColumns = `webhook_id, url, events, status, ${isoSql('webhook.created_at', 'MS')} as created_at`
