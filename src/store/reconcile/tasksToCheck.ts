import type { Pool } from 'pg'
import { defined } from '../../domain/defined.ts'
import type { Action, Family, ImageSize, ModelId } from '../../domain/models/models.ts'
import type { OverdueTask, PastEndTask } from '../../domain/ports/reconcileStore.ts'
import type { TaskStart } from '../../domain/ports/taskRuns.ts'
import type { Route } from '../../domain/tasks/imageRequest.ts'
import { isSyncRoute } from '../../domain/tasks/imageRequest.ts'
import { isLostSql } from '../attempts/closeAttempt.ts'

/**
 * Returns due live tasks before their deadline whose workflow is not known to exist, longest overdue first.
 */
export async function unstartedTasks(pool: Pool, limit: number): Promise<readonly TaskStart[]> {
  const { rows } = await pool.query<TaskStartRow>({
    name: 'unstarted-tasks',
    text: unstartedSql,
    values: [limit],
  })
  return rows.map(taskStartOf)
}

/**
 * Returns started live tasks that are due for a check, longest overdue first. Leaves out the tasks of
 * `pastEndTasks`.
 */
export async function overdueTasks(pool: Pool, limit: number): Promise<readonly OverdueTask[]> {
  const { rows } = await pool.query<TaskStartRow & { callUnderWay: boolean }>({
    name: 'overdue-tasks',
    text: overdueSql,
    values: [limit],
  })
  return rows.map((row) => ({ start: taskStartOf(row), callUnderWay: row.callUnderWay }))
}

/**
 * Returns due live tasks for which no worker may make a call any more, earliest deadline first. These tasks are past
 * their deadline and have no open attempt of a present process, or they are past their hard end.
 *
 * As a rule a task is due as soon as that is true, because the statements that set `next_check_at` set it to that
 * moment or earlier. There are two exceptions. If a call ended past the deadline, the check may come half a minute
 * later (`closeAttempt`). If a check past the hard end could not end the task, the next check comes after a pause
 * (`postponeChecks`).
 */
export async function pastEndTasks(
  pool: Pool,
  limit: number,
  graceMs: number,
): Promise<readonly PastEndTask[]> {
  const { rows } = await pool.query<PastEndTask>({
    name: 'past-end-tasks',
    text: pastEndSql,
    values: [limit, graceMs],
  })
  return rows
}

/** The columns of `TaskStartRow`, for statements on `task`. */
export const taskStartColumns = `task_id as "taskId", account_id as "accountId", family, model, action,
  size, route, encode(key_digest, 'hex') as "keyDigest"`

const unstartedSql = `
  select ${taskStartColumns} from task
  where status in ('queued', 'processing') and next_check_at <= now()
    and started_at is null and deadline_at > now()
  order by next_check_at limit $1`

const overdueSql = `
  select ${taskStartColumns}, coalesce(open.present and hard_end_at > now(), false) as "callUnderWay"
  from task
  left join lateral (
    select bool_or(not ${isLostSql}) as present from attempt
    where attempt.task_id = task.task_id and closed_at is null
  ) open on true
  where status in ('queued', 'processing') and next_check_at <= now()
    and started_at is not null
    and (deadline_at > now() or open.present and hard_end_at > now())
  order by next_check_at limit $1`

const pastEndSql = `
  select task_id as "taskId", attempts,
    hard_end_at + $2::float8 * interval '1 millisecond' <= now()
      and next_check_at > hard_end_at as "graceOver"
  from task
  where status in ('queued', 'processing') and next_check_at <= now()
    and deadline_at <= now()
    and (hard_end_at <= now() or not exists (
      select from attempt
      where attempt.task_id = task.task_id and closed_at is null and not ${isLostSql}))
  order by deadline_at limit $1`

export type TaskStartRow = {
  readonly taskId: string
  readonly accountId: string
  readonly family: Family
  readonly model: ModelId
  readonly action: Action
  readonly size: ImageSize | null
  readonly route: Route
  readonly keyDigest: string | null
}

/** Returns what the start of a task's workflow needs. */
export function taskStartOf(row: TaskStartRow): TaskStart {
  const { taskId, accountId, family, model, action, size, route, keyDigest } = row
  return {
    taskId,
    accountId,
    family,
    model,
    action,
    sync: isSyncRoute(route),
    ...defined({ size, keyDigest }),
  }
}
