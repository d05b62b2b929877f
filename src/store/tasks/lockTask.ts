import type { PoolClient } from 'pg'
import { silentMs } from '../../domain/limits.ts'
import type { Family, ModelId } from '../../domain/models/models.ts'
import type { Route } from '../../domain/tasks/imageRequest.ts'
import type { TaskStatus } from '../../domain/tasks/task.ts'

/**
 * What the gate and the ends of a task decide by. Instants are epoch milliseconds. `nowMs` is PostgreSQL's clock,
 * read after the row was locked.
 */
export type TaskState = {
  readonly taskId: string
  readonly accountId: string
  readonly route: Route
  readonly family: Family
  readonly model: ModelId
  readonly status: TaskStatus
  readonly credits: number
  /** The bytes of the stored request, which is not read here. */
  readonly requestBytes: number
  readonly nowMs: number
  readonly createdAtMs: number
  readonly deadlineAtMs: number
  readonly hardEndAtMs: number
}

/** A locked task and its attempts, oldest first. */
export type TaskWithAttempts = TaskState & { readonly attempts: readonly LockedAttempt[] }

export type LockedAttempt = {
  readonly n: number
  readonly channel: string
  readonly answerId: string
  readonly upstreamKey: string
  /** Whether the process that makes the call is present: its last beat is not too long ago. */
  readonly present: boolean
  readonly closedAtMs: number | null
  readonly class: string | null
  readonly reason: string | null
  readonly retryAfterMs: number | null
}

/**
 * Locks the task's row. Rows are locked in the order task, channel, cooldown, balance. Returns `undefined`
 * when there is no such task.
 */
export async function lockTask(client: PoolClient, taskId: string): Promise<TaskState | undefined> {
  const locked = await client.query<TaskState>({
    name: 'lock-task',
    text: lockTaskSql,
    values: [taskId],
  })
  return locked.rows[0]
}

/** The columns of `TaskState` without `nowMs`. */
export const taskStateColumnsSql = `task_id as "taskId", account_id as "accountId", route, family, model, status,
      credits::float8 as credits, coalesce(octet_length(request), 0) as "requestBytes",
      (extract(epoch from created_at) * 1000)::float8 as "createdAtMs",
      (extract(epoch from deadline_at) * 1000)::float8 as "deadlineAtMs",
      (extract(epoch from hard_end_at) * 1000)::float8 as "hardEndAtMs"`

/** The column `nowMs` of `TaskState`. */
export const nowMsSql = `(extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs"`

/** Reads the clock outside of `locked`, so that PostgreSQL reads it after the wait for the lock. */
const lockTaskSql = `
  with locked as materialized (
    select ${taskStateColumnsSql}
    from task where task_id = $1
    for update
  )
  select *, ${nowMsSql} from locked`

/**
 * Locks the task's row, then reads its attempts. A second statement reads the attempts, because it sees what
 * the last transaction that had the lock has written. Returns `undefined` when there is no such task.
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

/**
 * Whether the open call of an attempt counts as under way, so that nobody makes it again and nobody fails its
 * task. Past the task's hard end, no call is waited for.
 */
export function isUnderWay(task: TaskState, { present }: LockedAttempt): boolean {
  return present && task.nowMs < task.hardEndAtMs
}

/**
 * A condition on a row of `task` that is found by its id: the task is live. It does not name the statuses of live tasks,
 * because PostgreSQL may then read an index of all live tasks instead.
 */
export const isLiveSql = `status not in ('succeeded', 'failed')`

/** A condition on a row of `attempt`: the process that makes its call is present. */
export const processPresentSql = `exists (
    select from worker_process p where p.process_id = attempt.process_id
      and p.seen_at > clock_timestamp() - interval '${silentMs} milliseconds')`

const attemptsSql = `
  select n, channel, answer_id as "answerId", upstream_key as "upstreamKey",
    ${processPresentSql} as present,
    (extract(epoch from closed_at) * 1000)::float8 as "closedAtMs",
    class, reason, retry_after_ms::float8 as "retryAfterMs"
  from attempt where task_id = $1
  order by n`
