import type { Pool } from 'pg'
import type { AttemptStore } from '../../domain/ports/attemptStore.ts'
import { syncRoutes } from '../../domain/tasks/imageRequest.ts'
import type { ChannelStateRow } from '../channels/channelStates.ts'
import { channelStatesSql, statesOf } from '../channels/channelStates.ts'
import { joinQueries } from '../connection/joinQueries.ts'
import type { TaskState } from '../tasks/lockTask.ts'
import { nowMsSql, taskStateColumnsSql } from '../tasks/lockTask.ts'
import type { JudgeDeps } from './judgeTask.ts'
import { judgeTask } from './judgeTask.ts'

/** A task, and the states of the channels of its family. */
type Look = { readonly task: TaskState; readonly rows: readonly ChannelStateRow[] }

/**
 * Creates the function that judges the first call of a task by states that are read without locks. It returns the
 * failure with which the task must end instead, and the task's account, or `undefined` if the task need not end. A
 * state that changes meanwhile does no harm: this function writes nothing, and `failTask` does not fail a task whose
 * call is under way. With locks, the many tasks that end in a cooldown would wait for their channel's lock one after
 * the other, and the commit of each would wait for the disk. Tasks that come at once are read together.
 */
export function createEndOfFirstCall(
  deps: JudgeDeps & { readonly pool: Pool },
): AttemptStore['endOfFirstCall'] {
  const look = joinQueries((taskIds: readonly string[]) => lookAt(deps, taskIds))
  return async (taskId) => {
    const found = await look(taskId)
    if (found?.task.status !== 'queued') return undefined
    const { task, rows } = found
    const { channels, stepBy } = judgeTask(deps, { ...task, attempts: [] })
    const step = stepBy(task.nowMs, statesOf(channels, rows))
    return step.kind === 'end' ? { failure: step.failure, accountId: task.accountId } : undefined
  }
}

async function lookAt(
  { pool, channelsOf }: JudgeDeps & { readonly pool: Pool },
  taskIds: readonly string[],
): Promise<readonly (Look | undefined)[]> {
  const namesOf = (family: 'A' | 'B') => channelsOf(family).map(({ name }) => name)
  const { rows } = await pool.query<TaskState & ChannelStateRow>({
    name: 'look-at-first-calls',
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
