import type { PoolClient } from 'pg'
import { isSyncRoute } from '../../domain/tasks/imageRequest.ts'
import type { LockedTask } from '../tasks/lockTask.ts'

/**
 * How late a task may ask again. A task that asks even later has lost its turn in the queue, because its worker
 * may be dead.
 */
const lateMs = 1_000

/**
 * Puts a task into the queue for a place on each of these channels, or keeps it there. The task will ask
 * again in `delayMs`, and it stays in the queue until shortly after that. A task that is already in the queue
 * keeps its turn. The caller has locked the channels.
 */
export async function joinPlaceQueue(
  client: PoolClient,
  task: Pick<LockedTask, 'taskId' | 'accountId' | 'route'>,
  channels: readonly string[],
  delayMs: number,
): Promise<void> {
  await client.query({
    name: 'join-place-queue',
    text: joinSql,
    values: [channels, task.taskId, task.accountId, isSyncRoute(task.route), delayMs + lateMs],
  })
}

/**
 * Puts a task into the queue. Also deletes tasks that left the queue without a call, because they were
 * cancelled, failed, or lost their worker. No other statement deletes them.
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
