import type { ClientBase, Pool } from 'pg'
import { silentMs } from '../../domain/limits.ts'
import type { Beat, BeatResult, SilentProcess } from '../../domain/ports/presenceStore.ts'
import { withTransaction } from '../connection/transaction.ts'

/**
 * Records the beat of a process, and returns the silent processes and the orphaned attempts of this process. `client`
 * is the connection on which the process also listens for offers, so a process that cannot hear offers does not count
 * as present.
 */
export async function beat(client: ClientBase, sent: Beat): Promise<BeatResult> {
  const { rows } = await client.query<BeatResult>({
    name: 'beat',
    text: beatSql,
    values: [sent.processId, sent.accepting, sent.heldAnswerIds, silentMs, sent.lookBackSeconds],
  })
  return rows[0] ?? { silent: [], orphans: [] }
}

/**
 * A process is silent when its last beat is more than `silentMs` ($4) away from now. It is also silent when its last
 * beat lies that far in the future: PostgreSQL's clock was then set back, and the process has not sent a beat since.
 */
const beatSql = `
  with seen as (
    insert into worker_process (process_id, accepting) values ($1, $2)
    on conflict (process_id) do update
      set seen_at = clock_timestamp(), accepting = excluded.accepting, lost_at = null
  )
  select
    coalesce((
      select json_agg(json_build_object('processId', process_id, 'seenAt', seen_at::text))
      from worker_process
      where process_id <> $1 and lost_at is null
        and abs(extract(epoch from clock_timestamp() - seen_at)) * 1000 > $4
    ), '[]') as silent,
    coalesce((
      select json_agg(json_build_object('taskId', task_id, 'n', n, 'answerId', answer_id))
      from attempt
      where process_id = $1 and class is null and answer_id <> all($3::text[])
        and opened_at < clock_timestamp() - interval '10 seconds'
        and opened_at > clock_timestamp() - $5::float8 * interval '1 second'
    ), '[]') as orphans`

/**
 * Marks a silent process as lost, in one transaction with what follows from this. The live tasks with an open attempt
 * of the process become due for a check now, so that another worker takes them up. The open attempts of ended tasks
 * are closed here, because no worker asks the gate for these tasks any more.
 */
export async function markLost(pool: Pool, { processId, seenAt }: SilentProcess): Promise<boolean> {
  return withTransaction(pool, async (client) => {
    const { rowCount } = await client.query(
      `update worker_process set lost_at = clock_timestamp()
       where process_id = $1 and seen_at = $2::timestamptz and lost_at is null`,
      [processId, seenAt],
    )
    if (rowCount !== 1) return false
    await client.query(makeDueSql, [processId])
    await client.query(closeOfEndedSql, [processId])
    await client.query(forgetSql)
    return true
  })
}

const makeDueSql = `
  with due as (
    select task_id from task
    where status in ('queued', 'processing') and task_id in (
      select task_id from attempt where process_id = $1 and class is null)
    order by task_id for update
  )
  update task set next_check_at = least(next_check_at, now()), checks = 0
  from due where task.task_id = due.task_id`

const closeOfEndedSql = `
  update attempt set closed_at = clock_timestamp(), class = 'unknown', reason = 'worker_lost'
  from task
  where attempt.process_id = $1 and attempt.class is null
    and task.task_id = attempt.task_id and task.completed_at is not null`

/** Deletes the rows of processes that were marked as lost more than an hour ago and have no open attempt. */
const forgetSql = `
  delete from worker_process where lost_at < now() - interval '1 hour'
    and not exists (
      select from attempt where attempt.process_id = worker_process.process_id and class is null)`

/**
 * Deletes the row of a process that stops. The row stays if the process has an open attempt. Other processes then
 * find the process silent, mark it as lost, and so find the attempt.
 */
export async function leave(pool: Pool, processId: string): Promise<void> {
  await pool.query(
    `delete from worker_process where process_id = $1
       and not exists (select from attempt where process_id = $1 and class is null)`,
    [processId],
  )
}
