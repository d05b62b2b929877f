import type { Pool, PoolClient } from 'pg'
import { DatabaseError } from 'pg'
import { NothingWrittenError } from '../../domain/ports/nothingWrittenError.ts'
import type { NewTask } from '../../domain/ports/taskStore.ts'
import { isSyncRoute } from '../../domain/tasks/imageRequest.ts'
import { countChangeSql, isBalanceOfSql } from '../accounts/balanceRow.ts'
import { flushSql } from '../connection/flush.ts'
import { runStatement } from '../connection/transaction.ts'

/** The SQLSTATE of the error that the SQL function `refuse` raises. */
export const refusedState = 'DR001'

/**
 * Accepts several tasks of one account by one statement, which is a transaction of its own: all of them, or none. It
 * does for each task what the statement of `insertTask.ts` does, but takes the lock of the balance once for all. The
 * tasks have no uploads. It returns only when they are safe on disk, unless they are synchronous calls.
 *
 * Returns the time of creation in milliseconds. Returns `refused` when one of the tasks may not be accepted, or needs
 * what only the statement for one task does: its key has a budget, or its idempotency key is taken.
 */
export async function insertTasks(
  pool: Pool,
  tasks: readonly NewTask[],
): Promise<{ readonly createdAtMs: number } | 'refused'> {
  const [first] = tasks
  if (first === undefined) throw new Error('Bug: no task to insert')
  const query = {
    name: 'insert-tasks',
    text: insertSql,
    values: [first.caller.accountId, JSON.stringify(tasks.map(askedOf))],
  }
  try {
    const [row] = await runStatement<{ createdAtMs: number; allowed: boolean }>(
      pool,
      query,
      async ([inserted], client) => {
        const isSync = isSyncRoute(first.request.route)
        if (inserted?.allowed === true && !isSync) await flushTask(client, first.taskId)
      },
    )
    if (row === undefined) throw new Error('Bug: a select without from returned no row')
    return row.allowed ? { createdAtMs: row.createdAtMs } : 'refused'
  } catch (error) {
    if (error instanceof DatabaseError && error.code === refusedState) return 'refused'
    throw error
  }
}

/**
 * Waits until an inserted task is safe on disk, and with it the other tasks of its transaction. Throws
 * `NothingWrittenError` when a crash of PostgreSQL has undone the insert: behind a pooler, this connection may by now
 * lead to the server that has started again.
 */
export async function flushTask(client: PoolClient, taskId: string): Promise<void> {
  const { rowCount } = await client.query({
    name: 'flush-task',
    text: `select ${flushSql} from task where task_id = $1`,
    values: [taskId],
  })
  if (rowCount === 0) throw new NothingWrittenError(new Error('the insert was undone'))
}

function askedOf(task: NewTask): unknown {
  const { request, caller, keyDigest } = task
  return {
    task_id: task.taskId,
    key_id: caller.keyId,
    route: request.route,
    family: request.family,
    model: request.model,
    action: request.action,
    size: request.size,
    quality: request.quality,
    request: Buffer.from(task.requestText).toString('utf8'),
    fingerprint: Buffer.from(task.fingerprint).toString('hex'),
    key_digest: keyDigest && Buffer.from(keyDigest).toString('hex'),
    traceparent: task.traceparent,
    credits: task.credits,
    deadline_ms: task.deadlineMs,
    hard_end_ms: task.hardEndMs,
  }
}

/**
 * `allowed` is empty when the account has too few credits, or a key has a budget. Then nothing is written. If credits or
 * keys are taken while the statement waits for a lock, `refuse` raises an error, which rolls all steps back.
 *
 * The locks are taken in the order of the statement for one task. Idempotency keys are inserted in the order of their
 * digests, so that two statements with the same keys wait for each other in one direction only.
 */
const insertSql = `
  with asked as materialized (
    select * from json_to_recordset($2::json) as asked (
      task_id text, key_id text, route text, family text, model text, action text, size text, quality text,
      request text, fingerprint text, key_digest text, traceparent text, credits bigint, deadline_ms float8, hard_end_ms float8)
  ), allowed as (
    select 1 from balance
    where ${isBalanceOfSql('$1')} and available >= (select sum(credits) from asked)
      and not exists (select from api_key join asked using (key_id) where budget_credits is not null)
  ), claim as (
    insert into idempotency_key (account_id, key_digest, task_id)
    select $1, decode(key_digest, 'hex'), task_id from asked, allowed where key_digest is not null
    order by key_digest
    on conflict do nothing
    returning 1
  ), claimed as materialized (
    select (select count(*) from claim) = (select count(key_digest) from asked) as all_of_them
  ), accepted as (
    insert into task (task_id, account_id, key_id, route, family, model, action, size, quality,
      request, fingerprint, key_digest, traceparent, credits, deadline_at, hard_end_at)
    select task_id, $1, key_id, route, family, model, action, size, quality, request,
      decode(fingerprint, 'hex'), decode(key_digest, 'hex'), traceparent, credits,
      now() + deadline_ms * interval '1 millisecond', now() + hard_end_ms * interval '1 millisecond'
    from asked, allowed, claimed where all_of_them
    returning task_id, key_id, credits
  ), hold as (
    insert into ledger (account_id, task_id, kind, debit, credit, credits, key_id)
    select $1, task_id, 'hold', 'available', 'held', credits, key_id from accepted
  ), paid as (
    update balance set available = available - total.credits, held = held + total.credits, ${countChangeSql}
    from (select sum(credits) as credits from accepted having count(*) > 0) as total
    where ${isBalanceOfSql('$1')} and available >= total.credits
    returning 1
  )
  select
    -- For this transaction only.
    set_config('synchronous_commit', 'off', true),
    (floor(extract(epoch from now())) * 1000)::float8 as "createdAtMs",
    exists (select from allowed) as allowed,
    case when exists (select from allowed) and not exists (select from paid) then refuse('together') end as refused`
