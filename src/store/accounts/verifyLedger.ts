import type { Pool } from 'pg'
import type { AnswerOf } from '../../schema/answerOf.ts'
import type { verification } from '../../schema/operators/operatorMoney.ts'
import { withTransaction } from '../connection/transaction.ts'

/** What does not agree: a thing about a task when it has a `task_id`, else about an account. */
export type Violation = AnswerOf<typeof verification>['violations'][number]

/**
 * Limit for the reported violations of accounts, and of tasks. A bug shows in a few rows or in almost all
 * rows, so the first thousand are enough to find it.
 */
const violationsMax = 1_000

/**
 * Checks the deposits, the ledger, the balances, and each task's hold and end. Reads one snapshot, so tasks
 * may run during the check. Returns the violations: at most a thousand of accounts and a thousand of tasks.
 * An empty result means that the ledger is right.
 */
export async function verifyLedger(pool: Pool): Promise<readonly Violation[]> {
  return withTransaction(
    pool,
    async (client) => {
      const balances = await client.query<Violation>(verifyBalancesSql, [violationsMax])
      const tasks = await client.query<Violation>(verifyTasksSql, [violationsMax])
      return [...balances.rows, ...tasks.rows]
    },
    'repeatable read read only',
  )
}

/**
 * Returns one row for each violation of an account. The sums of an account's ledger rows must equal its
 * balance, and the prices of its live tasks what it holds.
 */
const verifyBalancesSql = `
  with sums as (
    select account_id,
      sum(case 'funding' when debit then credits when credit then -credits else 0 end) as deposits,
      sum(case 'available' when credit then credits when debit then -credits else 0 end) as available,
      sum(case 'held' when credit then credits when debit then -credits else 0 end) as held,
      sum(case 'spent' when credit then credits when debit then -credits else 0 end) as spent
    from ledger group by account_id
  ), books as (
    select account_id, a.name is not null as known, b.available is not null as kept,
      coalesce(b.available, 0) as available, coalesce(b.held, 0) as held,
      coalesce(b.spent, 0) as spent, coalesce(b.deposited, 0) as deposited,
      coalesce(s.deposits, 0) as entered_deposits,
      coalesce(s.available, 0) as entered_available, coalesce(s.held, 0) as entered_held,
      coalesce(s.spent, 0) as entered_spent
    from account a full join account_balance b using (account_id) full join sums s using (account_id)
  )
  select account_id, kind
  from books, unnest(array[
    case when not kept then 'account_without_balance' end,
    case when not known then 'balance_without_account' end,
    case when available < 0 then 'negative_balance' end,
    case when available <> entered_available then 'available_differs' end,
    case when held <> entered_held then 'held_differs' end,
    case when spent <> entered_spent then 'spent_differs' end,
    case when deposited <> entered_deposits then 'deposits_differ' end
  ]) as kind
  where kind is not null
  order by account_id, kind
  limit $1`

/**
 * Returns one row for each violation of a task. A task must have one hold, at most one end, and the end that
 * its status requires. A settlement may come with one refund, of what the task's row says for the size of its image.
 * Together they are the hold. The rows of the end must have the key and the model of the task, and the time of its end.
 * The hold of a retry has no key. A purged task must have been settled or released.
 */
const verifyTasksSql = `
  with entries as (
    select task_id, min(account_id) as account_id,
      count(*) filter (where kind = 'hold') as holds,
      count(*) filter (where kind = 'settle') as settles,
      count(*) filter (where kind = 'release') as releases,
      count(*) filter (where kind = 'refund') as refunds,
      sum(credits) filter (where kind = 'refund') as refund_credits,
      max(credits) filter (where kind = 'hold') as hold_credits,
      sum(credits) filter (where kind <> 'hold') as end_credits,
      min(account_id) <> max(account_id) as accounts_mixed,
      max(key_id) filter (where kind = 'hold') as hold_key,
      max(key_id) filter (where kind <> 'hold') as end_key,
      min(key_id) filter (where kind <> 'hold') as least_end_key,
      max(model) as end_model, min(model) as least_end_model,
      max(created_at) filter (where kind <> 'hold') as end_at,
      min(created_at) filter (where kind <> 'hold') as least_end_at
    from ledger where task_id is not null group by task_id
  ), books as (
    select task_id, coalesce(t.account_id, e.account_id) as account_id, t.status, t.credits,
      coalesce(e.holds, 0) as holds, coalesce(e.settles, 0) as settles,
      coalesce(e.releases, 0) as releases, coalesce(e.refunds, 0) as refunds,
      (e.settles + e.releases = 1 and hold_credits <> end_credits)
        or t.credits <> coalesce(hold_credits, end_credits) as credits_differ,
      t.status is not null and (coalesce(refund_credits, 0), t.refunded) is distinct from
        (t.refunded, refund_of(t.credits, t.smaller_prices, t.asset_width::bigint * t.asset_height)) as refund_differs,
      accounts_mixed or t.account_id <> e.account_id as account_differs,
      (e.holds = 1 and hold_key is distinct from case when t.retry_of is null then t.key_id end)
        or end_key <> t.key_id or least_end_key <> t.key_id as key_differs,
      end_model <> t.model or least_end_model <> t.model as model_differs,
      end_at <> t.completed_at or least_end_at <> t.completed_at as end_time_differs
    from task t full join entries e using (task_id)
  )
  select account_id, task_id, kind
  from books, unnest(array[
    case when status is not null and holds = 0 then 'hold_missing' end,
    case when holds > 1 then 'hold_twice' end,
    case when credits_differ then 'credits_differ' end,
    case when account_differs then 'account_differs' end,
    case when status is not null and key_differs then 'key_differs' end,
    case when model_differs then 'model_differs' end,
    case when end_time_differs then 'end_time_differs' end,
    case when settles + releases > 1 then 'end_twice' end,
    case when refunds > 1 then 'refund_twice' end,
    case when refunds > 0 and settles = 0 then 'refund_without_settlement' end,
    case when refund_differs then 'refund_differs' end,
    case when settles + releases > 0 and holds = 0 then 'end_without_hold' end,
    case when status in ('queued', 'processing') and settles + releases > 0 then 'live_task_ended' end,
    case when status = 'succeeded' and settles <> 1 then 'succeeded_not_settled' end,
    case when status = 'failed' and releases <> 1 then 'failed_not_released' end,
    case when status is null and settles + releases = 0 then 'held_without_task' end
  ]) as kind
  where kind is not null
  order by task_id, kind
  limit $1`
