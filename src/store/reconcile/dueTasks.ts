import type { Pool } from 'pg'
import { defined } from '../../domain/defined.ts'
import type { Route } from '../../domain/imageRequest.ts'
import { isSyncRoute } from '../../domain/imageRequest.ts'
import type { Action, Family, ImageSize, ModelId } from '../../domain/models.ts'
import type { OverdueTask, PastEndTask } from '../../domain/ports/reconcileStore.ts'
import type { TaskStart } from '../../domain/ports/taskRuns.ts'

type TaskStartRow = {
  readonly taskId: string
  readonly accountId: string
  readonly family: Family
  readonly model: ModelId
  readonly action: Action
  readonly size: ImageSize | null
  readonly route: Route
  readonly keyDigest: string | null
}

const taskStartColumns = `task_id as "taskId", account_id as "accountId", family, model, action,
  size, route, encode(key_digest, 'hex') as "keyDigest"`

/** What starting the task's workflow needs, as the row has it. */
function taskStartOf(row: TaskStartRow): TaskStart {
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

/** Live tasks whose workflow is not known to exist, longest due first (design 1.2, 1.12). */
export function createUnstartedTasks(deps: { readonly pool: Pool }) {
  return async (limit: number): Promise<readonly TaskStart[]> => {
    const { rows } = await deps.pool.query<TaskStartRow>({
      name: 'unstarted-tasks',
      text: `select ${taskStartColumns} from task
        where status in ('queued', 'processing') and next_check_at <= now()
          and started_at is null and deadline_at > now()
        order by next_check_at limit $1`,
      values: [limit],
    })
    return rows.map(taskStartOf)
  }
}

/** Started live tasks that are overdue for a sign of life, and not past their end (design 1.12). */
export function createOverdueTasks(deps: { readonly pool: Pool }) {
  return async (limit: number): Promise<readonly OverdueTask[]> => {
    const { rows } = await deps.pool.query<TaskStartRow & { leaseLeftMs: number }>({
      name: 'overdue-tasks',
      text: overdueSql,
      values: [limit],
    })
    return rows.map((row) => ({ start: taskStartOf(row), leaseLeftMs: row.leaseLeftMs }))
  }
}

const overdueSql = `
  select ${taskStartColumns},
    greatest(0, coalesce((extract(epoch from open.lease_until - now()) * 1000)::float8, 0))
      as "leaseLeftMs"
  from task
  left join lateral (
    select max(lease_until) as lease_until from attempt
    where attempt.task_id = task.task_id and closed_at is null
  ) open on true
  where status in ('queued', 'processing') and next_check_at <= now()
    and started_at is not null
    and (deadline_at > now() or open.lease_until is not null and hard_end_at > now())
  order by next_check_at limit $1`

/**
 * Live tasks to which no worker may bring anything more: past the deadline with no attempt open, or past
 * the hard end (design 1.10). Every writer of `next_check_at` keeps it at or before these moments;
 * but behind a call that ended past the deadline it may be half a minute later (`closeAttempt.ts`). Beyond
 * the hard end only a look that could not end the task puts it.
 */
export function createPastEndTasks(deps: { readonly pool: Pool }) {
  return async (limit: number, patienceMs: number): Promise<readonly PastEndTask[]> => {
    const { rows } = await deps.pool.query<PastEndTask>({
      name: 'past-end-tasks',
      text: `select task_id as "taskId",
          hard_end_at + $2::float8 * interval '1 millisecond' <= now()
            and next_check_at > hard_end_at as "patienceOver"
        from task
        where status in ('queued', 'processing') and next_check_at <= now()
          and deadline_at <= now()
          and (hard_end_at <= now() or not exists (
            select from attempt where attempt.task_id = task.task_id and closed_at is null))
        order by next_check_at limit $1`,
      values: [limit, patienceMs],
    })
    return rows
  }
}
