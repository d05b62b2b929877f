import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool, PoolClient } from 'pg'
import type { ApiKey } from '../../domain/accounts/account.ts'
import type { Budget } from '../../domain/accounts/budget.ts'
import { withTransaction } from '../connection/transaction.ts'
import { readKey } from './apiKeys.ts'

/**
 * Sets or removes the budget of a key. Counts what the submits of the current period already hold or have
 * spent, so that the budget is exact from the moment of the command. Returns `undefined` when there is no such
 * key.
 *
 * It counts twice. The first transaction writes the budget and a first count. From its commit on, every new submit
 * and release changes the count itself. Submits and releases that were under way at that moment did not see the
 * budget, and the first count did not see them. When they have ended, the second count includes them.
 */
export async function setBudget(
  pool: Pool,
  keyId: string,
  budget: Budget | undefined,
): Promise<ApiKey | undefined> {
  const exists = await withTransaction(pool, async (client) => {
    const { credits = null, period = null } = budget ?? {}
    const { rowCount } = await client.query(setSql, [keyId, credits, period])
    await client.query('delete from budget_use where key_id = $1', [keyId])
    await recount(client, keyId)
    return rowCount === 1
  })
  if (!exists) return undefined
  if (budget !== undefined) {
    await writersEnded(pool)
    await withTransaction(pool, (client) => recount(client, keyId))
  }
  return readKey(pool, keyId)
}

const setSql = 'update api_key set budget_credits = $2, budget_period = $3 where key_id = $1'

const pollMs = 20
/** No transaction lasts this long: PostgreSQL ends each of its statements and pauses after ten seconds. */
const writersEndedMs = 60_000

/**
 * Waits for the transactions that are writing to the ledger now. Resolves when all of them have ended, and after
 * `writersEndedMs` at the latest.
 */
async function writersEnded(pool: Pool): Promise<void> {
  const endsAtMs = performance.now() + writersEndedMs
  let writers = await writersOf(pool)
  while (writers.length > 0 && performance.now() < endsAtMs) {
    await sleep(pollMs)
    const now = new Set(await writersOf(pool))
    writers = writers.filter((writer) => now.has(writer))
  }
}

async function writersOf(pool: Pool): Promise<readonly string[]> {
  const { rows } = await pool.query<{ writer: string }>(
    `select virtualtransaction as writer from pg_locks
     where relation = 'ledger'::regclass and mode = 'RowExclusiveLock'
       and database = (select oid from pg_database where datname = current_database())`,
  )
  return rows.map(({ writer }) => writer)
}

/**
 * Counts the current period of a key again. Does nothing for a key without a budget. Submits and releases lock the
 * row of the count. So this function locks the row before it counts, and then sees what they have committed.
 */
async function recount(client: PoolClient, keyId: string): Promise<void> {
  const { rows } = await client.query<Period>(lockSql, [keyId])
  const [period] = rows
  if (period === undefined) return
  const { accountId, startsAt, endsAt } = period
  const counted = await client.query<{ used: number }>(countSql, [
    keyId,
    accountId,
    startsAt,
    endsAt,
  ])
  const values = [keyId, startsAt, counted.rows[0]?.used]
  await client.query('update budget_use set used = $3 where key_id = $1 and starts_at = $2', values)
}

type Period = { readonly accountId: string; readonly startsAt: string; readonly endsAt: string }

/** Locks the count of the current period. Writes an empty one first when there is none. */
const lockSql = `
  insert into budget_use (key_id, starts_at, ends_at)
  select key_id, starts_at, ends_at from api_key, budget_window(budget_period, now())
  where key_id = $1 and budget_period is not null
  on conflict (key_id, starts_at) do update set ends_at = excluded.ends_at
  returning starts_at::text as "startsAt", ends_at::text as "endsAt",
    (select account_id from api_key where key_id = $1) as "accountId"`

/**
 * Adds up the tasks that were submitted in the period: what the live ones hold, and what the succeeded ones were
 * charged. A charge is found by the time of the task's end, and its hold tells when the task was submitted. A task
 * that an operator made as a retry of another one does not count: its hold has no key.
 *
 * The period is passed as values, because PostgreSQL then knows its length and chooses a better plan: counting
 * 1,000,000 charges takes a quarter of the time.
 */
const countSql = `
  select ((
    select coalesce(sum(credits), 0) from task
    where account_id = $2 and key_id = $1 and retry_of is null
      and created_at >= $3::timestamptz and created_at < $4::timestamptz
      and status in ('queued', 'processing')
  ) + (
    select coalesce(sum(h.credits), 0)
    from ledger e join ledger h on h.task_id = e.task_id and h.kind = 'hold'
    where e.account_id = $2 and e.kind = 'settle' and e.key_id = $1
      and e.created_at >= $3::timestamptz and h.key_id = $1
      and h.created_at >= $3::timestamptz and h.created_at < $4::timestamptz
  ))::bigint as used`
