import type { Pool } from 'pg'
import { DatabaseError } from 'pg'
import type { BudgetState } from '../../domain/accounts/budget.ts'
import type { InsertTaskResult, NewTask } from '../../domain/ports/taskStore.ts'
import { isSyncRoute } from '../../domain/tasks/imageRequest.ts'
import { countChangeSql, isBalanceOfSql } from '../accounts/balanceRow.ts'
import { runStatement } from '../connection/transaction.ts'
import { flushTask, insertTasks, refusedState } from './insertTasks.ts'
import { createInsertTogether } from './insertTogether.ts'

type InsertedRow = {
  readonly createdAtMs: number | null
  readonly affordable: boolean
  readonly overBudget: BudgetState | null
}

/**
 * Limit for the tries of one insert. If another submit takes the rest of the budget during a try, the insert is tried
 * again. The next try sees what is left of the budget.
 */
const triesMax = 20

/**
 * Creates the function that accepts a task. Tasks of one account that come together are inserted together
 * (`insertTogether.ts`). A task that comes alone is inserted by one statement, which is a transaction of its own. The
 * statement inserts the idempotency key and the task, takes over its inputs, inserts the ledger row of the hold, and
 * updates the balance. Everything that changes the account's credits needs the lock of the same balance. So the
 * statement takes this lock only after it has inserted the task, and holds it until its commit, without a round trip to
 * this process.
 *
 * For a synchronous call the commit does not wait until the task is safe on disk. The client has no answer yet, and
 * the transaction that begins the upstream call makes the task and its hold durable too. If PostgreSQL crashes before
 * that, the task is gone as if it had never been accepted: nothing was called or charged, and the client gets an
 * error (`src/http/answers/answerSync.ts`).
 *
 * For an asynchronous task the function waits for the disk. When several tasks are being accepted, the commit itself
 * does not wait, because it would hold the lock of the balance meanwhile. A second statement waits then.
 *
 * If another transaction has just inserted the same key, the statement waits for the end of that transaction. If that
 * transaction commits, the statement writes nothing. If the account does not have enough credits, no row remains.
 */
export function createInsertTask(pool: Pool) {
  let underWay = 0
  async function counted<Value>(work: (isAlone: boolean) => Promise<Value>): Promise<Value> {
    const isAlone = underWay === 0
    underWay += 1
    try {
      return await work(isAlone)
    } finally {
      underWay -= 1
    }
  }
  return createInsertTogether({
    insertOne: (task) =>
      counted((isAlone) => {
        const isSync = isSyncRoute(task.request.route)
        return insert(pool, task, isSync ? 'never' : isAlone ? 'at_commit' : 'after_commit')
      }),
    insertMany: (tasks) => counted(() => insertTasks(pool, tasks)),
    nowMs: () => performance.now(),
  })
}

/** When an insert waits until the task is safe on disk. */
type WaitForDisk = 'at_commit' | 'after_commit' | 'never'

async function insert(pool: Pool, task: NewTask, wait: WaitForDisk): Promise<InsertTaskResult> {
  for (let tries = 0; tries < triesMax; tries += 1) {
    const result = await tryInsert(pool, task, wait)
    if (result !== 'budget_changed') return result
  }
  throw new Error('Bug: the budget of a key changed at every try of a submit')
}

async function tryInsert(
  pool: Pool,
  task: NewTask,
  wait: WaitForDisk,
): Promise<InsertTaskResult | 'budget_changed'> {
  try {
    const values = [...valuesOf(task), wait !== 'at_commit']
    const query = { name: 'insert-task', text: insertSql, values }
    const [row] = await runStatement<InsertedRow>(pool, query, async ([inserted], client) => {
      const isInserted = typeof inserted?.createdAtMs === 'number'
      if (isInserted && wait === 'after_commit') await flushTask(client, task.taskId)
    })
    if (row === undefined) throw new Error('Bug: a select without from returned no row')
    if (row.createdAtMs !== null) return { kind: 'inserted', createdAtMs: row.createdAtMs }
    if (!row.affordable) return { kind: 'insufficient' }
    if (row.overBudget !== null) return { kind: 'over_budget', budget: row.overBudget }
    return { kind: 'key_taken' }
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.code !== refusedState) throw error
    if (error.message === 'insufficient') return { kind: 'insufficient' }
    if (error.message === 'budget') return 'budget_changed'
    throw new Error('Bug: the upload of a new task is unknown or has been taken', { cause: error })
  }
}

function valuesOf(task: NewTask): unknown[] {
  const { request, caller } = task
  return [
    task.taskId,
    caller.accountId,
    caller.keyId,
    request.route,
    request.family,
    request.model,
    request.action,
    request.size ?? null,
    request.quality ?? null,
    // The bytes go to PostgreSQL as they are. As a string, a text of megabytes would first be encoded in one step,
    // which would block the process.
    Buffer.from(task.requestText.buffer, task.requestText.byteOffset, task.requestText.byteLength),
    Buffer.from(task.fingerprint),
    task.keyDigest === undefined ? null : Buffer.from(task.keyDigest),
    task.credits,
    task.deadlineMs,
    task.hardEndMs,
    task.uploadId ?? null,
    request.inputs.reduce((sum, { bytes }) => sum + bytes, 0),
    task.traceparent ?? null,
  ]
}

/**
 * Inserts the key (`claim`), then inserts the task (`accepted`), then counts the budget (`counted`), then updates the
 * balance (`paid`). Each of these steps reads from the step before it, so PostgreSQL takes their locks in this order.
 * A release locks the budget before the balance too. The order of the other steps is not defined and does not matter.
 *
 * `paid` joins the accepted row. It must not test `exists (select from accepted)` instead: after a wait for the lock
 * of the balance, PostgreSQL evaluates the condition of the step again, and it cannot run the insert again for this.
 *
 * `affordable` is empty when the account has too few credits, and `over` has a row when too little of the key's
 * budget is left. Then nothing is written. Another task may take the credits later, while this statement waits for a
 * lock. Then `refuse` raises an error, which rolls all steps back.
 */
const insertSql = `
  with affordable as (
    select 1 from balance where ${isBalanceOfSql('$2')} and available >= $13::bigint
  ), budget as (
    select budget_credits, budget_period, starts_at, ends_at
    from api_key, budget_window(budget_period, now())
    where key_id = $3 and budget_credits is not null and $13::bigint > 0
  ), over as (
    select coalesce(used, 0) as used
    from budget left join budget_use on budget_use.key_id = $3 and budget_use.starts_at = budget.starts_at
    where coalesce(used, 0) + $13 > budget_credits
  ), allowed as (
    select 1 from affordable where not exists (select from over)
  ), claim as (
    insert into idempotency_key (account_id, key_digest, task_id)
    select $2, $12, $1 from allowed where $12::bytea is not null
    on conflict do nothing
    returning 1
  ), accepted as (
    insert into task (task_id, account_id, key_id, route, family, model, action, size, quality,
      request, fingerprint, key_digest, traceparent, credits, deadline_at, hard_end_at)
    select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $18, $13,
      now() + $14::float8 * interval '1 millisecond', now() + $15::float8 * interval '1 millisecond'
    from allowed where $12::bytea is null or exists (select from claim)
    returning account_id, created_at
  ), placed as (
    update upload set task_id = $1, sweep_after = 'infinity', bytes = $17 from accepted
    where upload_id = $16 and task_id is null and sweep_after > now()
    returning 1
  ), hold as (
    insert into ledger (account_id, task_id, kind, debit, credit, credits, key_id)
    select account_id, $1, 'hold', 'available', 'held', $13, $3 from accepted
  ), counted as (
    insert into budget_use (key_id, starts_at, ends_at, used)
    select $3, starts_at, ends_at, $13 from budget, accepted
    on conflict (key_id, starts_at) do update set used = budget_use.used + excluded.used
      where budget_use.used + excluded.used <= (select budget_credits from budget)
    returning 1
  ), paid as (
    update balance set available = available - $13, held = held + $13, ${countChangeSql}
    from accepted, (select count(*) from counted) as after_counted
    where ${isBalanceOfSql('$2')} and available >= $13::bigint
    returning 1
  )
  select
    -- For this transaction only.
    case when $19 then set_config('synchronous_commit', 'off', true) end,
    (select (floor(extract(epoch from created_at)) * 1000)::float8 from accepted) as "createdAtMs",
    exists (select from affordable) as affordable,
    (select json_build_object('credits', budget_credits, 'period', budget_period, 'used', used,
       'renewsAtMs', extract(epoch from ends_at) * 1000) from budget, over) as "overBudget",
    case
      when not exists (select from accepted) then false
      when $16::text is not null and not exists (select from placed) then refuse('upload')
      when exists (select from budget) and not exists (select from counted) then refuse('budget')
      when not exists (select from paid) then refuse('insufficient')
    end as refused`
