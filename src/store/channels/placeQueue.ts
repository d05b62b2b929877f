import type { PoolClient } from 'pg'
import { isSyncRoute } from '../../domain/tasks/imageRequest.ts'
import type { TaskState } from '../tasks/lockTask.ts'

/** The task that asks for a place on a channel. */
export type PlaceRequest = {
  readonly taskId: string
  readonly accountId: string
  /** Whether a client waits for the task on an open connection. */
  readonly sync: boolean
}

/**
 * The order in which waiting tasks get the free places of a channel `c`. This expression counts the tasks in the
 * channel's queue whose turn comes before the turn of the asking task. The gate gives the task a place only if more places are free than tasks are ahead of it.
 *
 * Three rules decide between two tasks, each rule only when the rules before it leave them equal:
 * 1. Synchronous tasks go first, together with the asynchronous tasks that have waited for 30 seconds. Without
 *    this limit, an asynchronous task could wait as long as synchronous tasks arrive.
 * 2. The task of the account with fewer open calls on the channel goes first.
 * 3. The task that has waited longer goes first.
 *
 * The statement needs a relation `asking` with the columns `taskId`, `accountId` and `sync`, and a `with` part `open`
 * made of `openCallsSql`.
 */
export const aheadSql = `(select count(*) from place_queue w
      where w.channel = c.name and w.task_id <> asking."taskId" and w.present_until > clock_timestamp()
        and (
          not (w.sync or w.since < clock_timestamp() - interval '30 seconds'),
          coalesce((select calls from open
            where open.channel = w.channel and open.account_id = w.account_id), 0),
          w.since
        ) < (
          not (asking.sync or coalesce((select own.since < clock_timestamp() - interval '30 seconds'
            from place_queue own
            where own.channel = c.name and own.task_id = asking."taskId"
              and own.present_until > clock_timestamp()), false)),
          coalesce((select calls from open
            where open.channel = c.name and open.account_id = asking."accountId"), 0),
          coalesce((select own.since from place_queue own
            where own.channel = c.name and own.task_id = asking."taskId"
              and own.present_until > clock_timestamp()), clock_timestamp())
        )
    )::int`

/**
 * The number of open calls of each account on each of the channels in `asking.channels`. PostgreSQL computes it only when `aheadSql`
 * compares two tasks, so the gate does not pay for it while the queue is empty.
 */
export const openCallsSql = `
    select a.channel, t.account_id, count(*) as calls
    from channel c join attempt a on a.channel = c.name and a.opened_at >= c.open_since
      join task t using (task_id)
    where c.name in (select unnest(channels) from asking) and a.closed_at is null and a.lease_until > clock_timestamp()
    group by a.channel, t.account_id
  `

/**
 * How late a task may ask the gate again and still keep its turn in the queue. A task that asks later has lost its
 * turn: its worker may be dead, and the tasks behind it must not wait for a dead worker.
 */
export const lateMs = 1_000

/**
 * Puts a task into the queue for a place on each of these channels, or keeps it there. The task will ask
 * again in `delayMs`, and it stays in the queue until `lateMs` after that. A task that is already in the queue
 * keeps its turn. The caller has locked the channels.
 */
export async function joinPlaceQueue(
  client: PoolClient,
  task: Pick<TaskState, 'taskId' | 'accountId' | 'route'>,
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
 * Puts a task into the queue. Also deletes the rows of tasks that left the queue without a call, because they were
 * cancelled, failed, or lost their worker. A task that gets its call is deleted from the queue by the statement
 * that opens the attempt.
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
