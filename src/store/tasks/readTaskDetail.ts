import type { Pool } from 'pg'
import { defined } from '../../domain/defined.ts'
import type { ImageSize, Quality } from '../../domain/models/models.ts'
import type { AttemptDetail, EntryDetail, TaskDetail } from '../../domain/ports/taskAdmin.ts'
import type { Delivery } from '../../domain/webhooks/delivery.ts'
import { withTransaction } from '../connection/transaction.ts'
import type { TaskViewRow } from './readTask.ts'
import { isKept, taskViewColumns, taskViewOf } from './readTask.ts'
import { deliveriesOfTask } from '../webhooks/deliveries.ts'

type DetailRow = TaskViewRow &
  Pick<TaskDetail, 'accountName' | 'action' | 'acceptedAtMs' | 'deadlineAtMs'> & {
    readonly size: ImageSize | null
    readonly quality: Quality | null
    readonly purgeAtMs: number | null
    readonly retryOf: string | null
    readonly retriedAs: string | null
  }

/** The type `Row` as PostgreSQL returns it: an absent field is null. */
type Nullable<Row> = {
  readonly [Name in keyof Row]-?: undefined extends Row[Name]
    ? Exclude<Row[Name], undefined> | null
    : Row[Name]
}

/**
 * Returns a task with its attempts, ledger rows and webhook deliveries, all from one snapshot. Returns `undefined`
 * when the task is unknown, purged or due for the purge.
 */
export async function readTaskDetail(pool: Pool, taskId: string): Promise<TaskDetail | undefined> {
  return withTransaction(
    pool,
    async (client) => {
      const tasks = await client.query<DetailRow>(detailSql, [taskId])
      const row = tasks.rows[0]
      if (row === undefined) return undefined
      const attempts = await client.query<Nullable<AttemptDetail>>(attemptsSql, [taskId])
      const entries = await client.query<EntryDetail>(entriesSql, [taskId])
      const deliveries = await deliveriesOfTask(client, taskId)
      return detailOf(row, attempts.rows, entries.rows, deliveries)
    },
    { isolation: 'repeatable read read only' },
  )
}

function detailOf(
  row: DetailRow,
  attempts: readonly Nullable<AttemptDetail>[],
  entries: readonly EntryDetail[],
  deliveries: readonly Delivery[],
): TaskDetail {
  const { size, quality, startedAtMs, purgeAtMs, retryOf, retriedAs } = row
  return {
    task: taskViewOf(row),
    accountName: row.accountName,
    action: row.action,
    route: row.route,
    credits: row.credits,
    acceptedAtMs: row.acceptedAtMs,
    deadlineAtMs: row.deadlineAtMs,
    ...defined({ size, quality, startedAtMs, purgeAtMs, retryOf, retriedAs }),
    attempts: attempts.map(({ n, channel, processId, via, openedAtMs, ...rest }) => ({
      n,
      channel,
      processId,
      via,
      openedAtMs,
      ...defined(rest),
    })),
    entries,
    deliveries,
  }
}

const detailSql = `
  select ${taskViewColumns}, account.name as "accountName", action, size, quality,
    (extract(epoch from task.created_at) * 1000)::float8 as "acceptedAtMs",
    (extract(epoch from deadline_at) * 1000)::float8 as "deadlineAtMs",
    (extract(epoch from purge_at) * 1000)::float8 as "purgeAtMs",
    retry_of as "retryOf",
    (select retry.task_id from task retry where retry.retry_of = task.task_id) as "retriedAs"
  from task join account using (account_id)
  where task.task_id = $1 and ${isKept}`

const attemptsSql = `
  select n, channel, process_id as "processId", via, class, reason, http_status as "httpStatus",
    upstream_request_id as "upstreamRequestId", latency_ms as "latencyMs",
    retry_after_ms as "retryAfterMs",
    (extract(epoch from opened_at) * 1000)::float8 as "openedAtMs",
    (extract(epoch from closed_at) * 1000)::float8 as "closedAtMs"
  from attempt where task_id = $1 order by n`

const entriesSql = `
  select kind, credits, (extract(epoch from created_at) * 1000)::float8 as "atMs"
  from ledger where task_id = $1 order by entry_id`
