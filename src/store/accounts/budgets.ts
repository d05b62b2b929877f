import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import type { ApiKey } from '../../domain/accounts/account.ts'
import type { Budget } from '../../domain/accounts/budget.ts'
import { withTransaction } from '../connection/transaction.ts'
import { readKey } from './apiKeys.ts'

/**
 * Sets or removes the budget of a key. Counts what the submits of the current period already hold or have
 * spent, so that the budget is exact from the moment of the command. Returns `undefined` when there is no such
 * key.
 *
 * First the budget and an empty count become visible, and every new submit and release counts itself. Then the
 * transactions that began before this have ended. Now the ledger has everything that did not count itself.
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
    if (budget !== undefined) await client.query(emptySql, [keyId])
    return rowCount === 1
  })
  if (!exists) return undefined
  if (budget !== undefined) {
    await writersEnded(pool)
    await recount(pool, keyId)
  }
  return readKey(pool, keyId)
}

const setSql = 'update api_key set budget_credits = $2, budget_period = $3 where key_id = $1'

/** Writes the count of the current period, or locks it when a submit was faster. */
const emptySql = `
  insert into budget_use (key_id, starts_at, ends_at)
  select key_id, starts_at, ends_at from api_key, budget_window(budget_period, now())
  where key_id = $1 and budget_period is not null
  on conflict (key_id, starts_at) do update set ends_at = excluded.ends_at`

const pollMs = 20
/** Every transaction is over before: PostgreSQL ends its statements and pauses after ten seconds each. */
const writersEndedMs = 60_000

/** Resolves when every transaction has ended that is writing to the ledger now. */
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

/** Counts under the lock of the count. The second statement sees what the last holder of the lock has written. */
async function recount(pool: Pool, keyId: string): Promise<void> {
  await withTransaction(pool, async (client) => {
    await client.query(emptySql, [keyId])
    await client.query(recountSql, [keyId])
  })
}

/**
 * What live tasks hold and ended tasks have settled, of the submits since the period began. The index of the
 * account's ends leads to the settled ones; their holds have the time of the submit. The hold of a retry has
 * no key and does not count.
 */
const recountSql = `
  with counted as (
    select u.key_id, u.starts_at, u.ends_at, k.account_id
    from budget_use u join api_key k using (key_id), budget_window(k.budget_period, now()) w
    where u.key_id = $1 and u.starts_at = w.starts_at
  )
  update budget_use set used = (
      select coalesce(sum(t.credits), 0) from task t
      where t.account_id = counted.account_id and t.key_id = counted.key_id and t.retry_of is null
        and t.created_at >= counted.starts_at and t.created_at < counted.ends_at
        and t.status in ('queued', 'processing')
    ) + (
      select coalesce(sum(h.credits), 0)
      from ledger e join ledger h on h.task_id = e.task_id and h.kind = 'hold'
      where e.account_id = counted.account_id and e.kind = 'settle' and e.key_id = counted.key_id
        and e.created_at >= counted.starts_at and h.key_id = counted.key_id
        and h.created_at >= counted.starts_at and h.created_at < counted.ends_at
    )
  from counted
  where budget_use.key_id = counted.key_id and budget_use.starts_at = counted.starts_at`
