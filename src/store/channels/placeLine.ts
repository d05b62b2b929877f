import type { PoolClient } from 'pg'
import { isSyncRoute } from '../../domain/imageRequest.ts'
import type { LockedTask } from '../tasks/lockTask.ts'

/** Later than promised by this much, a task counts as gone: its worker may have died. */
const lateMs = 1_000

/**
 * Puts a task in line for a place on each of these channels, or keeps its place there, until shortly
 * after it has promised to ask again. Under the channels' row locks.
 */
export async function standInLine(
  client: PoolClient,
  task: Pick<LockedTask, 'taskId' | 'accountId' | 'route'>,
  channels: readonly string[],
  delayMs: number,
): Promise<void> {
  await client.query({
    name: 'stand-in-line',
    text: standSql,
    values: [channels, task.taskId, task.accountId, isSyncRoute(task.route), delayMs + lateMs],
  })
}

/** Who left without a call (cancelled, failed, its worker gone) is swept by those who come after. */
const standSql = `
  with gone as (
    delete from place_line where channel = any($1) and task_id <> $2
      and present_until < clock_timestamp() - interval '1 minute'
  )
  insert into place_line as held (channel, task_id, account_id, sync, present_until)
  select channel, $2, $3, $4, clock_timestamp() + $5::float8 * interval '1 millisecond'
  from unnest($1::text[]) as asked (channel)
  on conflict (channel, task_id) do update set
    since = case when held.present_until > clock_timestamp() then held.since else excluded.since end,
    present_until = excluded.present_until`
