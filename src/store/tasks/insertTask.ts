import type { Pool } from 'pg'
import { DatabaseError } from 'pg'
import type { InsertTaskResult, KeyedTask, NewTask } from '../../domain/ports/taskStore.ts'
import { runStatement } from '../connection/transaction.ts'

type InsertedRow = { readonly createdAtMs: number | null; readonly affordable: boolean }

/** What `refuse` of the first migration raises. */
const refused = 'DR001'

/**
 * Design 1.2 in one statement, which is a transaction of its own: the claim of the key, the task with its
 * inputs, the hold, and the conditional update of the balance last. One round trip, so the lock on a busy
 * account's balance is held for the commit alone. Who loses the claim waits for the winner's end and
 * writes nothing; who cannot pay leaves no trace.
 */
export async function insertTask(pool: Pool, task: NewTask): Promise<InsertTaskResult> {
  try {
    const query = { name: 'insert-task', text: insertSql, values: valuesOf(task) }
    const [row] = await runStatement<InsertedRow>(pool, query)
    if (row === undefined) throw new Error('Bug: a select without from answered no row')
    if (row.createdAtMs !== null) return { kind: 'inserted', createdAtMs: row.createdAtMs }
    return { kind: row.affordable ? 'key_taken' : 'insufficient' }
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.code !== refused) throw error
    if (error.message === 'insufficient') return { kind: 'insufficient' }
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
    JSON.stringify(request),
    Buffer.from(task.fingerprint),
    task.keyDigest === undefined ? null : Buffer.from(task.keyDigest),
    task.credits,
    task.deadlineMs,
    task.hardEndMs,
    task.uploadId ?? null,
  ]
}

/**
 * Each step reads from the one before it, so that claim, task and balance are locked in that order. The
 * balance joins the task row instead of asking `exists`: after a wait for the balance's lock PostgreSQL
 * evaluates the condition again, and cannot run an insert a second time for it. Who plainly cannot pay
 * is told before anything is written; who cannot any more, after the wait, is refused by an error.
 */
const insertSql = `
  with affordable as (
    select 1 from balance where account_id = $2 and available >= $13::bigint
  ), claim as (
    insert into idempotency_key (account_id, key_digest, task_id)
    select $2, $12, $1 from affordable where $12::bytea is not null
    on conflict do nothing
    returning 1
  ), accepted as (
    insert into task (task_id, account_id, key_id, route, family, model, action, size, quality,
      request, fingerprint, key_digest, credits, deadline_at, hard_end_at)
    select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,
      now() + $14::float8 * interval '1 millisecond', now() + $15::float8 * interval '1 millisecond'
    from affordable where $12::bytea is null or exists (select from claim)
    returning account_id, created_at
  ), placed as (
    update upload set task_id = $1, sweep_after = 'infinity' from accepted
    where upload_id = $16 and task_id is null and sweep_after > now()
    returning 1
  ), hold as (
    insert into ledger (account_id, task_id, kind, debit, credit, credits)
    select account_id, $1, 'hold', 'available', 'held', $13 from accepted where $13::bigint > 0
  ), paid as (
    update balance set available = available - $13, held = held + $13 from accepted
    where balance.account_id = accepted.account_id and available >= $13::bigint
    returning 1
  )
  select
    (select (floor(extract(epoch from created_at)) * 1000)::float8 from accepted) as "createdAtMs",
    exists (select from affordable) as affordable,
    case
      when not exists (select from accepted) then false
      when $16::text is not null and not exists (select from placed) then refuse('upload')
      when not exists (select from paid) then refuse('insufficient')
    end as refused`

/** The task that this account's idempotency key names, if it names one. */
export async function findKeyedTask(
  pool: Pool,
  accountId: string,
  keyDigest: Uint8Array,
): Promise<KeyedTask | undefined> {
  const { rows } = await pool.query<KeyedTask>({
    name: 'find-keyed-task',
    text: findSql,
    values: [accountId, Buffer.from(keyDigest)],
  })
  return rows[0]
}

/** Clients see whole seconds, everywhere the same (design section 4). */
const findSql = `
  select t.task_id as "taskId", t.fingerprint,
    (floor(extract(epoch from t.created_at)) * 1000)::float8 as "createdAtMs",
    coalesce(t.purge_at <= now(), false) as "purgeDue"
  from idempotency_key k join task t using (task_id)
  where k.account_id = $1 and k.key_digest = $2`

/** Takes a key off a task whose life is over, when the sweep has not yet (design, lifetimes). */
export async function freeKey(pool: Pool, accountId: string, keyDigest: Uint8Array): Promise<void> {
  await pool.query({
    name: 'free-key',
    text: `delete from idempotency_key k using task t
      where k.account_id = $1 and k.key_digest = $2
        and t.task_id = k.task_id and t.purge_at <= now()`,
    values: [accountId, Buffer.from(keyDigest)],
  })
}
