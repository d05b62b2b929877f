import type { Pool } from 'pg'
import type { NewWebhook } from '../../domain/ports/webhookStore.ts'
import type { Webhook, WebhookEvent } from '../../domain/webhooks/webhook.ts'
import { rotationMs, webhooksMax } from '../../domain/webhooks/webhook.ts'
import { rollback, runStatement, withTransaction } from '../connection/transaction.ts'
import { firstTrySql, laterTrySql } from './deliveries.ts'

/** Inserts a webhook. Returns `undefined` when the account has `webhooksMax` webhooks already. */
export async function insertWebhook(pool: Pool, webhook: NewWebhook): Promise<Webhook | undefined> {
  const { webhookId, accountId, url, events, secret } = webhook
  return withTransaction<Webhook | undefined>(pool, async (client) => {
    // Two inserts of one account take turns, so that the second one counts the first.
    await client.query('select from account where account_id = $1 for no key update', [accountId])
    const { rows } = await client.query<WebhookRow>(
      `insert into webhook (webhook_id, account_id, url, events, key_id, version)
       values ($1, $2, $3, $4, $5, $6) returning ${webhookColumns}`,
      [webhookId, accountId, url, events, secret.keyId, secret.version],
    )
    await client.query('insert into webhook_health (webhook_id) values ($1)', [webhookId])
    const counted = await client.query<{ count: number }>(
      `select count(*)::int as count from webhook where account_id = $1 and status <> 'deleted'`,
      [accountId],
    )
    if ((counted.rows[0]?.count ?? 0) > webhooksMax) return rollback<Webhook | undefined>(undefined)
    return rows[0] && webhookOf(rows[0])
  })
}

/** Returns the webhooks of an account, newest first. There are at most `webhooksMax`. */
export async function listWebhooks(pool: Pool, accountId: string): Promise<readonly Webhook[]> {
  const { rows } = await pool.query<WebhookRow>(
    `select ${webhookColumns} from webhook where account_id = $1 and status <> 'deleted'
     order by created_at desc, webhook_id desc`,
    [accountId],
  )
  return rows.map(webhookOf)
}

/** Returns a webhook of the account, or `undefined` when the account has no such webhook. */
export async function readWebhook(
  pool: Pool,
  accountId: string,
  webhookId: string,
): Promise<Webhook | undefined> {
  const { rows } = await pool.query<WebhookRow>(
    `select ${webhookColumns} from webhook where ${ownSql}`,
    [accountId, webhookId],
  )
  return rows[0] && webhookOf(rows[0])
}

/**
 * Enables a webhook. Deliveries that were pending when it was disabled stay failed, or are failed now if they
 * have not all been ended yet. Returns `undefined` when the account has no such webhook.
 */
export async function enableWebhook(
  pool: Pool,
  accountId: string,
  webhookId: string,
): Promise<Webhook | undefined> {
  if ((await readWebhook(pool, accountId, webhookId)) === undefined) return undefined
  while (await endSomePending(pool, webhookId));
  const { rows } = await pool.query<WebhookRow>(
    `update webhook set status = 'active' where ${ownSql} returning ${webhookColumns}`,
    [accountId, webhookId],
  )
  return rows[0] && webhookOf(rows[0])
}

/**
 * Gives a webhook a new secret, computed from the given key. For `rotationMs`, the previous secret signs too.
 * Returns `undefined` when the account has no such webhook.
 */
export async function rotateSecret(
  pool: Pool,
  accountId: string,
  webhookId: string,
  keyId: string,
): Promise<Webhook | undefined> {
  const { rows } = await pool.query<WebhookRow>(
    `update webhook set previous_key_id = key_id, key_id = $3, version = version + 1,
       previous_until = clock_timestamp() + $4 * interval '1 millisecond'
     where ${ownSql} returning ${webhookColumns}`,
    [accountId, webhookId, keyId, rotationMs],
  )
  return rows[0] && webhookOf(rows[0])
}

/**
 * Disables or deletes a webhook of the account, and ends its pending deliveries as failed. Returns false when the
 * account has no such webhook.
 */
export async function endWebhook(
  pool: Pool,
  accountId: string,
  webhookId: string,
  status: 'disabled' | 'deleted',
): Promise<boolean> {
  const { rowCount } = await pool.query(
    `update webhook set status = $3, url = case when $3 = 'deleted' then '' else url end where ${ownSql}`,
    [accountId, webhookId, status],
  )
  if (rowCount !== 1) return false
  await endPending(pool, webhookId)
  return true
}

/** How many deliveries one statement ends. So it ends in time, and keeps locks only briefly. */
const endBatch = 5_000

/** How many statements the process that disables a webhook sends. The reconciler sends the others. */
const batchesAtOnce = 4

/**
 * Ends pending deliveries of a webhook as failed, unless the webhook is active. Call this after the transaction that
 * disabled or deleted the webhook: a receiver that was unreachable for days can have a million of them, and the ends of
 * the account's tasks need the lock of the webhook. From that commit on, no worker claims a delivery, and no end of a
 * task writes one. Ends 20,000 deliveries at most, and leaves the others to the reconciler.
 */
export async function endPending(pool: Pool, webhookId: string): Promise<void> {
  for (let batches = 0; batches < batchesAtOnce; batches += 1) {
    if (!(await endSomePending(pool, webhookId))) return
  }
}

/**
 * Ends up to `endBatch` pending deliveries of a webhook, unless it is active. Returns false when there was none. Two
 * processes can end the same ones, so a statement that ended none says nothing.
 */
export async function endSomePending(pool: Pool, webhookId: string): Promise<boolean> {
  const { rowCount } = await pool.query(
    `select from webhook where webhook_id = $1 and ${endedWithPendingSql}`,
    [webhookId],
  )
  if (rowCount === 0) return false
  await runStatement(pool, {
    name: 'end-pending',
    text: endPendingSql,
    values: [webhookId, endBatch],
  })
  return true
}

/** Lists webhooks that are not active and have pending deliveries. */
export async function endedWithPending(pool: Pool, limit: number): Promise<readonly string[]> {
  const { rows } = await pool.query<{ webhookId: string }>(
    `select webhook_id as "webhookId" from webhook where ${endedWithPendingSql} limit $1`,
    [limit],
  )
  return rows.map(({ webhookId }) => webhookId)
}

const deliverySql = 'from webhook_delivery d where d.webhook_id = webhook.webhook_id'

// First tries and later ones are searched one after the other, because each has an index of its own.
const endedWithPendingSql = `webhook.status <> 'active' and (
  exists (select ${deliverySql} and ${firstTrySql}) or exists (select ${deliverySql} and ${laterTrySql}))`

// With an array, PostgreSQL looks each delivery up by its id, whatever it thinks of the size of the table.
const endPendingSql = `
  update webhook_delivery set status = 'failed', next_attempt_at = null, claimed_until = null
  where status = 'pending' and delivery_id = any (array(
    select delivery_id from webhook cross join lateral (
      (select d.delivery_id ${deliverySql} and ${firstTrySql} limit $2)
      union all
      (select d.delivery_id ${deliverySql} and ${laterTrySql} limit $2)) each
    where webhook_id = $1 and webhook.status <> 'active' limit $2))`

/** Deletes deleted webhooks that have no delivery left. Returns how many. */
export async function forgetWebhooks(pool: Pool): Promise<number> {
  const { rowCount } = await pool.query(
    `delete from webhook where status = 'deleted'
       and not exists (select from webhook_delivery d where d.webhook_id = webhook.webhook_id)`,
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

const webhookColumns = `webhook_id as "webhookId", account_id as "accountId", url, events, status,
  (extract(epoch from created_at) * 1000)::float8 as "createdAtMs", key_id as "keyId", version`

type WebhookRow = Omit<Webhook, 'secret' | 'events'> & {
  readonly events: WebhookEvent[]
  readonly keyId: string
  readonly version: number
}

function webhookOf({ keyId, version, ...row }: WebhookRow): Webhook {
  return { ...row, secret: { keyId, version } }
}
