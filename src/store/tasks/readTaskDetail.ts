import type { Pool } from 'pg'
import { defined } from '../../domain/defined.ts'
import type { TaskView } from '../../domain/tasks/task.ts'
import type { AnswerOf } from '../../schema/answerOf.ts'
import type { taskStory } from '../../schema/operators/operatorTasks.ts'
import { isoSql } from '../isoSql.ts'
import type { TaskViewRow } from '../taskRow.ts'
import { isKept, taskViewColumns } from '../taskRow.ts'

/** Everything about one task except its prompt. */
export type TaskDetail = {
  readonly task: TaskView
  readonly summary: TaskSummary
  /**
   * When the task was created, in milliseconds. `task.createdAtMs` is the same instant in whole seconds, as
   * clients see it.
   */
  readonly acceptedAtMs: number
  /** The events so far, in the order of time. */
  readonly timeline: readonly TimelineEvent[]
}

/** What operators see of a task besides its timeline. */
export type TaskSummary = Omit<AnswerOf<typeof taskStory>, 'timeline'>

/** One event of a task. `atMs` is an instant. The names in `detail` are JSON names. */
export type TimelineEvent = {
  readonly atMs: number
  readonly event:
    | 'accepted'
    | 'held'
    | 'started'
    | 'attempt_opened'
    | 'stored'
    | 'attempt_closed'
    | 'settled'
    | 'refunded'
    | 'released'
    | 'succeeded'
    | 'failed'
    | 'expired'
    | 'webhook'
  readonly detail: Readonly<Record<string, string | number>>
}

/**
 * Returns a task with its timeline, all from one snapshot. Returns `undefined` when the task is unknown, purged or due
 * for the purge.
 */
export async function readTaskDetail(pool: Pool, taskId: string): Promise<TaskDetail | undefined> {
  type DetailRow = Omit<TaskDetail, 'task'> & { readonly task: TaskViewRow }
  const { rows } = await pool.query<DetailRow>({
    name: 'read-task-detail',
    text: detailSql,
    values: [taskId],
  })
  return rows[0] && { ...rows[0], task: defined(rows[0].task) }
}

/** The size of the image as `1254x1254`. Null: there is none, or its size is not known. */
const deliveredSql = `task.asset_width || 'x' || task.asset_height`

/**
 * The events of a task, from its row and from the rows of its attempts, its money and its deliveries, not from
 * Temporal. So they are complete as long as the task's record exists. `rank` puts the cause before the effect where
 * both have the same instant.
 *
 * A start is recorded after Temporal has answered, so the first attempt of the run can be older. Attempts of direct runs
 * may precede the run. The attempt of a succeeded call closes only after its answer is stored. The statement that ends a
 * task also ends its hold, so a settlement, a refund or a release has the instant of the end. A delivery has the instant
 * of its last try.
 */
const eventsSql = `
  select 1 as rank, task.created_at as at, 'accepted' as event,
    json_build_object('route', task.route, 'retry_of', task.retry_of) as detail
  union all
  select 3, least(task.started_at, (
      select min(opened_at) from attempt where attempt.task_id = task.task_id and via = 'workflow')),
    'started', '{}'
  where task.started_at is not null
  union all
  select 4, opened_at, 'attempt_opened',
    json_build_object('attempt', n, 'channel', channel, 'worker', process_id, 'via', via)
  from attempt where attempt.task_id = task.task_id
  union all
  select 5, closed_at, 'stored', json_build_object('attempt', n)
  from attempt where attempt.task_id = task.task_id and class = 'succeeded'
  union all
  select 6, closed_at, 'attempt_closed',
    json_build_object('attempt', n, 'channel', channel, 'class', class, 'reason', reason,
      'http_status', http_status, 'upstream_request_id', upstream_request_id,
      'vendor_code', vendor_code,
      'latency_ms', latency_ms, 'retry_after_ms', retry_after_ms)
  from attempt where attempt.task_id = task.task_id and closed_at is not null
  union all
  select case kind when 'hold' then 2 when 'refund' then 7.5 else 7 end,
    case kind when 'hold' then created_at else coalesce(task.completed_at, created_at) end,
    case kind when 'hold' then 'held' when 'settle' then 'settled' when 'refund' then 'refunded' else 'released' end,
    case kind when 'refund' then json_build_object('credits', credits, 'reason', 'smaller_than_asked',
      'asked', coalesce(task.size, '1K'), 'delivered', ${deliveredSql}, 'held', task.credits,
      'charged', task.credits - credits) else json_build_object('credits', credits) end
  from ledger where ledger.task_id = task.task_id
  union all
  select 8, task.completed_at, task.status,
    case task.status
      when 'failed' then json_build_object('code', task.failure_code, 'cause', task.failure_cause)
      else json_build_object('mime_type', task.asset_mime_type, 'bytes', task.asset_bytes, 'pixels', ${deliveredSql})
    end
  where task.completed_at is not null
  union all
  select 9, task.expires_at, 'expired', '{}' where task.expires_at <= now()
  union all
  select 10, coalesce((attempts -> -1 ->> 'at')::timestamptz, created_at), 'webhook',
    json_build_object('webhook', webhook_id, 'delivery', delivery_id, 'status', status,
      'tries', jsonb_array_length(attempts),
      'http_status', attempts -> -1 -> 'http_status', 'error', attempts -> -1 -> 'error')
  from webhook_delivery where webhook_delivery.task_id = task.task_id`

const detailSql = `
  select (select to_json(view) from (select ${taskViewColumns}) view) as task,
    json_strip_nulls(json_build_object(
      'task_id', task_id, 'account', account.name, 'key_id', key_id, 'model', model, 'action', action, 'size', size,
      'quality', quality, 'route', route,
      'status', case when status = 'succeeded' and expires_at <= now() then 'expired' else status end,
      'credits', credits, 'charged', case when completed_at is not null then
        case status when 'succeeded' then credits - refunded else 0 end end,
      'delivered', ${deliveredSql}, 'created_at', ${isoSql("date_trunc('second', task.created_at)", 'MS')},
      'deadline_at', ${isoSql('deadline_at', 'MS')}, 'expires_at', ${isoSql('expires_at', 'MS')},
      'purge_at', ${isoSql('purge_at', 'MS')}, 'retry_of', retry_of,
      'retried_as', (select retry.task_id from task retry where retry.retry_of = task.task_id),
      'request_id', request_id, 'traceparent', traceparent)) as summary,
    (extract(epoch from task.created_at) * 1000)::float8 as "acceptedAtMs",
    (select json_agg(json_build_object('atMs', extract(epoch from at) * 1000, 'event', event,
        'detail', json_strip_nulls(detail)) order by at, rank)
      from (${eventsSql}) events) as timeline
  from task join account using (account_id)
  where task.task_id = $1 and ${isKept}`
