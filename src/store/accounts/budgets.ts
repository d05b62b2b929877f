import type { Pool, PoolClient } from 'pg'
import type { Budget, BudgetState } from '../../domain/accounts/budget.ts'
import type { KeyJson } from './apiKeys.ts'
import { readKey } from './apiKeys.ts'
import { runStatement } from '../connection/transaction.ts'

/**
 * Sets or removes the budget of a key. Counts what the submits of the current period already hold or have
 * spent, so that the budget is exact from the moment of the command. Webhooks are told of the new budget as if none had
 * been before. Returns `undefined` when there is no such key.
 *
 * The lock of the ledger comes first: it waits for the submits and ends under way, and later ones begin after the
 * commit. So each of them is either counted here or sees the budget. Throws when the lock is not free in time.
 */
export async function setBudget(
  client: PoolClient,
  keyId: string,
  budget: Budget | undefined,
): Promise<KeyJson | undefined> {
  // Submits that come after the lock wait behind it, so it must not wait for long.
  await client.query(`set local lock_timeout = '2s'`)
  await client.query('lock table ledger in share mode')
  const { credits = null, period = null } = budget ?? {}
  await client.query(
    'update api_key set budget_credits = $2, budget_period = $3 where key_id = $1',
    [keyId, credits, period],
  )
  await client.query('delete from budget_use where key_id = $1', [keyId])
  await client.query(countSql, [keyId])
  return readKey(client, keyId)
}

/**
 * Adds up the tasks that were submitted in the period: what the live ones hold, and what the succeeded ones were
 * charged. A charge is found by the time of the task's end, and its hold tells when the task was submitted. A task
 * that an operator made as a retry of another one does not count: its hold has no key.
 */
const countSql = `
  insert into budget_use (key_id, starts_at, ends_at, budget_credits, used)
  select key_id, starts_at, ends_at, budget_credits, (
    select coalesce(sum(credits), 0) from task
    where task.account_id = api_key.account_id and task.key_id = api_key.key_id and retry_of is null
      and created_at >= starts_at and created_at < ends_at and status in ('queued', 'processing')
  ) + (
    select coalesce(sum(settled.credits), 0)
    from ledger settled join ledger hold on hold.task_id = settled.task_id and hold.kind = 'hold'
    where settled.account_id = api_key.account_id and settled.kind = 'settle'
      and settled.key_id = api_key.key_id and settled.created_at >= starts_at
      and hold.key_id = api_key.key_id and hold.created_at >= starts_at and hold.created_at < ends_at
  )
  from api_key, budget_window(budget_period, now())
  where key_id = $1 and budget_period is not null`

/**
 * Tells webhooks that a budget has refused a submit in its period (`tell_budget_reached` in the schema), unless they were
 * told before.
 */
export async function tellRefusal(
  pool: Pool,
  keyId: string,
  { renewsAtMs }: BudgetState,
): Promise<void> {
  await runStatement(pool, { name: 'tell-refusal', text: refusedSql, values: [keyId, renewsAtMs] })
}

const refusedSql = `
  insert into budget_use as known (key_id, starts_at, ends_at, budget_credits, refused)
  select key_id, starts_at, ends_at, budget_credits, true
  from api_key, budget_window(budget_period, now())
  where key_id = $1 and ends_at = to_timestamp($2::float8 / 1000)
  on conflict (key_id, starts_at) do update set refused = true where not known.refused`

/** Returns the budget of a key and how much of it is used, or `undefined` when the key has none. */
export async function readBudget(pool: Pool, keyId: string): Promise<BudgetState | undefined> {
  const { rows } = await pool.query<{ readonly budget: BudgetState | null }>(
    `select ${budgetSql} as budget from api_key where key_id = $1`,
    [keyId],
  )
  return rows[0]?.budget ?? undefined
}

/** The budget of a row of `api_key`, as `BudgetState`. Null: it has none. */
export const budgetSql = `case when budget_period is not null then (
    select json_build_object('credits', budget_credits, 'period', budget_period, 'used', coalesce(used, 0),
      'renewsAtMs', (extract(epoch from w.ends_at) * 1000)::float8,
      'refusalToTell', not coalesce(refused, false) and exists (
        select from webhook where webhook.account_id = api_key.account_id
          and status = 'active' and 'key.budget_reached' = any(events)))
    from budget_window(budget_period, now()) w
      left join budget_use u on u.key_id = api_key.key_id and u.starts_at = w.starts_at) end`
