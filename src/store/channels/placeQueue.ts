import type { PoolClient } from 'pg'
import { isSyncRoute } from '../../domain/imageRequest.ts'
import type { LockedTask } from '../tasks/lockTask.ts'

/** A task that is later than this has left the queue: its worker may be dead. */
const lateMs = 1_000

/**
 * Puts a task into the queue for a place on each of these channels, or keeps it there. The task stays
 * until shortly after it has promised to ask again, in `delayMs`. A task that is in the queue already
 * keeps its turn. The caller has locked the channels.
 */
export async function joinPlaceQueue(
  client: PoolClient,
  task: Pick<LockedTask, 'taskId' | 'accountId' | 'route'>,
  channels: readonly string[],
  delayMs: number,
): Promise<void> {
  await client.query({
    name: 'stand-in-line',
    text: joinSql,
    values: [channels, task.taskId, task.accountId, isSyncRoute(task.route), delayMs + lateMs],
  })
}

/**
 * Also deletes tasks that left the queue without a call: cancelled, failed, or their worker lost.
 * Nothing else deletes them.
 */
const joinSql = `
  with gone as (
    delete from place_queue where channel = any($1) and task_id <> $2
      and present_until < clock_timestamp() - interval '1 minute'
  )
  insert into place_queue as held (channel, task_id, account_id, sync, present_until)
  select channel, $2, $3, $4, clock_timestamp() + $5::float8 * interval '1 millisecond'
  from unnest($1::text[]) as asked (channel)
  on conflict (channel, task_id) do update set
    since = case when held.present_until > clock_timestamp() then held.since else excluded.since end,
    present_until = excluded.present_until`
