import type { Pool } from 'pg'
import { defined } from '../../domain/defined.ts'
import type { AttemptStore, BeginResult } from '../../domain/ports/attemptStore.ts'
import { syncRoutes } from '../../domain/tasks/imageRequest.ts'
import type { ChannelStateRow } from '../channels/channelStates.ts'
import { channelStatesSql, statesOf } from '../channels/channelStates.ts'
import { lateMs } from '../channels/placeQueue.ts'
import { runStatement } from '../connection/transaction.ts'
import type { TaskState } from '../tasks/lockTask.ts'
import { isLiveSql, nowMsSql, taskStateColumnsSql } from '../tasks/lockTask.ts'
import type { JudgeDeps } from './judgeTask.ts'
import { judgeTask } from './judgeTask.ts'
import { checkAfterWaitSql } from './overdue.ts'

/** A task, and the states of the channels of its family. */
type Look = { readonly task: TaskState; readonly rows: readonly ChannelStateRow[] }

/**
 * Answers about a queued task by states that are read without locks. With locks, the many tasks that end in a cooldown
 * or wait for a place would wait for their channel's lock one after the other, and the commit of each would wait for
 * the disk. Tasks that ask at once are read together. Each answer is `undefined` when the full gate must decide.
 */
export type QueuedLooks = {
  /**
   * Returns the failure with which the task must end instead of its first call. A state that changes meanwhile does no
   * harm: this function writes nothing, and `failTask` does not fail a task whose call is under way.
   */
  readonly endOfFirstCall: AttemptStore['endOfFirstCall']
  /**
   * Keeps the places of a task in the queues of full channels while its turn has not come, and returns its next wait.
   * A task that has lost a place must ask the full gate.
   */
  readonly waitInLine: (taskId: string) => Promise<BeginResult | undefined>
}

export function createQueuedLooks(deps: JudgeDeps & { readonly pool: Pool }): QueuedLooks {
  async function judge(taskId: string) {
    const [found] = await lookAt(deps, [taskId])
    if (found?.task.status !== 'queued') return undefined
    const { task, rows } = found
    const { channels, stepBy } = judgeTask(deps, { ...task, attempts: [] })
    return { task, step: stepBy(task.nowMs, statesOf(channels, rows)) }
  }

  return {
    endOfFirstCall: async (taskId) => {
      const judged = await judge(taskId)
      if (judged?.step.kind !== 'end') return undefined
      return { failure: judged.step.failure, accountId: judged.task.accountId }
    },
    waitInLine: async (taskId) => {
      const { step } = (await judge(taskId)) ?? {}
      if (step?.kind !== 'wait' || step.reason !== 'channel_full') return undefined
      const { delayMs, reason, channel, inLine } = step
      if (inLine === undefined) return undefined
      const [isKept] = await keepPlaces(deps.pool, [{ taskId, channels: inLine, delayMs }])
      if (isKept !== true) return undefined
      return { kind: 'wait', delayMs, reason, ...defined({ channel }) }
    },
  }
}

async function lookAt(
  { pool, channelsOf }: JudgeDeps & { readonly pool: Pool },
  taskIds: readonly string[],
): Promise<readonly (Look | undefined)[]> {
  const namesOf = (family: 'A' | 'B') => channelsOf(family).map(({ name }) => name)
  const { rows } = await pool.query<TaskState & ChannelStateRow>({
    name: 'look-at-queued',
    text: lookSql,
    values: [taskIds, syncRoutes, namesOf('A'), namesOf('B')],
  })
  const byTask = Map.groupBy(rows, ({ taskId }) => taskId)
  return taskIds.map((taskId) => {
    const found = byTask.get(taskId)
    return found?.[0] && { task: found[0], rows: found }
  })
}

const lookSql = channelStatesSql(
  `select ${taskStateColumnsSql}, route = any($2) as sync,
      case family when 'A' then $3::text[] else $4::text[] end as channels
    from task where task_id = any($1)`,
  `asking.*, ${nowMsSql},`,
)

/** A task that waits in line for places on these channels, and asks again in `delayMs`. */
type InLine = {
  readonly taskId: string
  readonly channels: readonly string[]
  readonly delayMs: number
}

/**
 * Keeps queued tasks in line, as `joinPlaceQueue` does for one, and schedules the check of each. It locks no channel.
 * Returns for each task whether it has kept all of its places. A task has lost a place when it asks too late. A task
 * that another transaction has locked counts as if it had lost its places, so that no statement waits for it.
 */
async function keepPlaces(pool: Pool, asked: readonly InLine[]): Promise<readonly boolean[]> {
  const rows = await runStatement<{ taskId: string }>(pool, {
    name: 'keep-places',
    text: keepSql,
    values: [
      asked.map(({ taskId }) => taskId),
      JSON.stringify(
        asked.map(({ taskId, channels, delayMs }) => ({
          asking: taskId,
          channels,
          delay_ms: delayMs,
          present_ms: delayMs + lateMs,
        })),
      ),
    ],
  })
  const kept = new Set(rows.map(({ taskId }) => taskId))
  return asked.map(({ taskId }) => kept.has(taskId))
}

/**
 * Its commit does not wait for the disk: after a crash, a check only comes earlier, and the queue is empty anyway. A
 * queued task is one that lives and has not begun. Its status is not named: see `isLiveSql`.
 */
const keepSql = `
  with asked as materialized (
    select * from json_to_recordset($2::json) as asked (asking text, channels text[],
      delay_ms float8, present_ms float8)
  ), locked as materialized (
    select task_id as locked_id from task where task_id = any($1) and ${isLiveSql} and processing_at is null
    for update skip locked
  ), kept as (
    update place_queue
    set present_until = clock_timestamp() + present_ms * interval '1 millisecond'
    from locked join asked on asking = locked_id
    where place_queue.task_id = locked_id and channel = any(channels)
      and present_until > clock_timestamp()
    returning locked_id as kept_id
  ), in_line as materialized (
    select asking, delay_ms from asked
    where cardinality(channels) = (select count(*) from kept where kept_id = asking)
  )
  update task set checks = 0, next_check_at = ${checkAfterWaitSql('delay_ms')}
  from in_line where task_id = any($1) and task_id = asking
  returning task_id as "taskId", set_config('synchronous_commit', 'off', true)`
