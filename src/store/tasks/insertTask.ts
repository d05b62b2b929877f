import type { Pool } from 'pg'
import type { Caller } from '../../domain/accounts/account.ts'
import type { BudgetState } from '../../domain/accounts/budget.ts'
import type { ImageRequest } from '../../domain/tasks/imageRequest.ts'
import type { TaskTerms } from '../../domain/tasks/taskTerms.ts'
import { DatabaseError } from 'pg'
import type { OverLimit, RequestsState } from '../../domain/accounts/accountLimits.ts'
import { defined } from '../../domain/defined.ts'
import { readBudget } from '../accounts/budgets.ts'
import type { LimitsRow } from '../accounts/setLimits.ts'
import { runStatement } from '../connection/transaction.ts'

/** A task to insert. Digests have 32 bytes. */
export type NewTask = TaskTerms & {
  readonly taskId: string
  readonly caller: Caller
  readonly request: ImageRequest
  readonly fingerprint: Uint8Array
  readonly keyDigest?: Uint8Array
  /** The `x-request-id` of the answer to this request. */
  readonly requestId?: string
  /** The span of the client that asks, as `readTraceparent` returns it. */
  readonly traceparent?: string
  /** The upload that contains the inputs. */
  readonly uploadId?: string
}

export type InsertTaskResult =
  /** `requests` is the limit of the account with this request. Absent: the account has none. */
  | {
      readonly kind: 'inserted'
      readonly createdAtMs: number
      readonly requests?: RequestsState
    }
  /** The idempotency key already names another task, which is not due for the purge. Nothing was written. */
  | { readonly kind: 'key_taken' }
  /** The account has reached one of its limits. Nothing was written. */
  | { readonly kind: 'over_limit'; readonly limit: OverLimit }
  /** The account does not have enough credits. Nothing was written. */
  | { readonly kind: 'insufficient' }
  /** The price is more than what is left of the key's budget. Nothing was written. */
  | { readonly kind: 'over_budget'; readonly budget: BudgetState }

/** The SQLSTATE of the error that the SQL function `refuse` raises. */
const refusedState = 'DR001'

/**
 * Accepts a task by one statement, which is a transaction of its own: binds the idempotency key, inserts the task, takes
 * over its inputs, and holds its price. Does all of this or nothing. When it returns `inserted`, the task is safe on
 * disk: the client is then told that the task was accepted.
 *
 * If another transaction has just inserted the same key, the statement waits for its end. A taken key wins over every
 * other refusal, because a repeated request is answered by its first task, whatever is left of the credits. Then come
 * the limits of the account, its credits and the budget of the key.
 */
export async function insertTask(pool: Pool, task: NewTask): Promise<InsertTaskResult> {
  try {
    const query = { name: 'insert-task', text: insertSql, values: valuesOf(task) }
    const [row] = await runStatement<InsertedRow>(pool, query)
    if (row === undefined) throw new Error('Bug: a select without from returned no row')
    const { createdAtMs, requests } = row
    if (createdAtMs === null) return { kind: 'key_taken' }
    return { kind: 'inserted', createdAtMs, ...defined({ requests }) }
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.code !== refusedState) throw error
    const limit = overLimit(error)
    if (limit !== undefined) return { kind: 'over_limit', limit }
    if (error.message === 'insufficient') return { kind: 'insufficient' }
    if (error.message === 'budget') {
      const budget = await readBudget(pool, task.caller.keyId)
      // Without a budget: the operator has removed it meanwhile.
      return budget === undefined ? insertTask(pool, task) : { kind: 'over_budget', budget }
    }
    throw new Error('Bug: the upload of a new task is unknown or has been taken', { cause: error })
  }
}

type InsertedRow = {
  readonly createdAtMs: number | null
  readonly requests: RequestsState | null
}

/** Returns the limit that the statement found reached. */
function overLimit({ message, detail = '' }: DatabaseError): OverLimit | undefined {
  if (message !== 'requests' && message !== 'live_tasks') return undefined
  const { requests, liveTasks }: LimitsRow = JSON.parse(detail)
  if (message === 'requests' && requests !== null) return { tag: 'too_many_requests', requests }
  if (liveTasks === null) throw new Error(`Bug: the limit ${message} is reached and not set`)
  return { tag: 'too_many_live_tasks', liveTasksLimit: liveTasks, ...defined({ requests }) }
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
    request.inputs.reduce((sum, { bytes }) => sum + bytes, 0),
    task.traceparent ?? null,
    task.requestId ?? null,
    JSON.stringify(task.smallerPrices),
  ]
}

/**
 * Claims the key, or takes it over from a task that is due for the purge; inserts the task, counts the budget, and
 * updates the balance. The text of a statement gives its parts no order, so each part reads from the part before it: a
 * submit that has lost its key changes nothing, and the locks are taken in the order of a release (budget, balance).
 *
 * `paid` joins the accepted row. It must not test `exists (select from accepted)` instead: the re-check
 * (docs/architecture.md) cannot run the insert again.
 *
 * A part that finds too few credits, or too little of the budget, writes nothing. Then `refuse` raises an error, which
 * takes all parts back. The limits are checked before the credits, in one condition, because PostgreSQL evaluates
 * several in an order of its own.
 */
const insertSql = `
  with claim as (
    insert into idempotency_key as known (account_id, key_digest, task_id)
    select $2, $12, $1 where $12::bytea is not null
    on conflict (account_id, key_digest) do update set task_id = excluded.task_id
      where exists (select from task where task.task_id = known.task_id and purge_at <= now())
    returning 1
  ), accepted as (
    insert into task (task_id, account_id, key_id, route, family, model, action, size, quality,
      request, fingerprint, key_digest, traceparent, request_id, credits, smaller_prices, deadline_at, hard_end_at)
    select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $18, $19, $13, nullif($20::jsonb, '[]'),
      now() + $14::float8 * interval '1 millisecond', now() + $15::float8 * interval '1 millisecond'
    where $12::bytea is null or exists (select from claim)
    returning account_id, key_id, credits, created_at
  ), taken as (
    update upload set task_id = $1, sweep_after = 'infinity', bytes = $17 from accepted
    where upload_id = $16 and task_id is null and sweep_after > now()
    returning 1
  ), hold as (
    insert into ledger (account_id, task_id, kind, credits, key_id)
    select account_id, $1, 'hold', credits, key_id from accepted
  ), budget as (
    select key_id, budget_credits, starts_at, ends_at, credits
    from accepted join api_key using (key_id), budget_window(budget_period, now())
    where budget_credits is not null and credits > 0
  ), counted as (
    insert into budget_use (key_id, starts_at, ends_at, budget_credits, used)
    select key_id, starts_at, ends_at, budget_credits, credits from budget where credits <= budget_credits
    on conflict (key_id, starts_at) do update set used = budget_use.used + excluded.used
      where budget_use.used + excluded.used <= budget_use.budget_credits
    returning 1
  ), paid as (
    update balance set available = available - credits,
      requests_tat = request_taken(balance, clock_timestamp())
    from accepted, (select count(*) from counted) as after_counted
    where balance.account_id = accepted.account_id and case
      when not request_fits(balance, clock_timestamp()) then refuse('requests', account_limits(balance))
      when live_tasks_limit is not null and not live_task_fits(balance) then false
      else available >= credits
    end
    returning case when requests_limit is not null then account_limits(balance) -> 'requests' end as requests
  )
  select
    (select (floor(extract(epoch from created_at)) * 1000)::float8 from accepted) as "createdAtMs",
    (select requests from paid) as requests,
    case
      when not exists (select from accepted) then false
      when $16::text is not null and not exists (select from taken) then refuse('upload')
      when not exists (select from paid) then refuse('insufficient')
      when exists (select from budget) and not exists (select from counted) then refuse('budget')
    end as refused`
