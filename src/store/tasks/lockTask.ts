import type { PoolClient } from 'pg'
import type { Route } from '../../domain/imageRequest.ts'
import type { Family, ModelId } from '../../domain/models.ts'
import type { TaskStatus } from '../../domain/task.ts'

/** The locked task; `nowMs` is the database's clock once the lock was had (epoch). */
export type LockedTask = {
  readonly taskId: string
  readonly accountId: string
  readonly route: Route
  readonly family: Family
  readonly model: ModelId
  readonly status: TaskStatus
  readonly request: string | null
  readonly credits: number
  readonly nowMs: number
  readonly createdAtMs: number
  readonly deadlineAtMs: number
  readonly hardEndAtMs: number
}

/** Oldest attempt first. */
export type TaskWithAttempts = LockedTask & { readonly attempts: readonly LockedAttempt[] }

export type LockedAttempt = {
  readonly n: number
  readonly channel: string
  readonly answerId: string
  readonly upstreamKey: string
  readonly openedAtMs: number
  readonly leaseUntilMs: number
  /** When its worker was last heard of; 0: never. */
  readonly seenAtMs: number
  /** When somebody found its worker silent; 0: nobody did. */
  readonly doubtedAtMs: number
  readonly closedAtMs: number | null
  readonly class: string | null
  readonly reason: string | null
  readonly retryAfterMs: number | null
}

/** Locks the task row: first in the lock order task → channel → cooldown → balance. */
export async function lockTask(
  client: PoolClient,
  taskId: string,
): Promise<LockedTask | undefined> {
  const locked = await client.query<LockedTask>({
    name: 'lock-task',
    text: lockSql,
    values: [taskId],
  })
  return locked.rows[0]
}

/**
 * Locks the task row and reads its attempts, by a statement of their own after the lock is had, so that
 * they are as the last holder left them.
 */
export async function lockTaskWithAttempts(
  client: PoolClient,
  taskId: string,
): Promise<TaskWithAttempts | undefined> {
  const task = await lockTask(client, taskId)
  if (task === undefined) return undefined
  if (task.status === 'queued') return { ...task, attempts: [] }
  const attempts = await client.query<LockedAttempt>({
    name: 'lock-task-attempts',
    text: attemptsSql,
    values: [taskId],
  })
  return { ...task, attempts: attempts.rows }
}

/** The clock outside of the part that locks: inside, it would be read before a wait for the lock. */
const lockSql = `
  with locked as materialized (
    select task_id as "taskId", account_id as "accountId", route, family, model, status, request,
      credits::float8 as credits,
      (extract(epoch from created_at) * 1000)::float8 as "createdAtMs",
      (extract(epoch from deadline_at) * 1000)::float8 as "deadlineAtMs",
      (extract(epoch from hard_end_at) * 1000)::float8 as "hardEndAtMs"
    from task where task_id = $1
    for update
  )
  select *, (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs" from locked`

const attemptsSql = `
  select n, channel, answer_id as "answerId", upstream_key as "upstreamKey",
    (extract(epoch from opened_at) * 1000)::float8 as "openedAtMs",
    (extract(epoch from lease_until) * 1000)::float8 as "leaseUntilMs",
    coalesce((extract(epoch from seen_at) * 1000)::float8, 0) as "seenAtMs",
    coalesce((extract(epoch from doubted_at) * 1000)::float8, 0) as "doubtedAtMs",
    (extract(epoch from closed_at) * 1000)::float8 as "closedAtMs",
    class, reason, retry_after_ms::float8 as "retryAfterMs"
  from attempt where task_id = $1
  order by n`
