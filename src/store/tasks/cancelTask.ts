import type { PoolClient } from 'pg'
import { mayHaveWorked } from '../../domain/gate/taskFacts.ts'
import type { CancelReason, CancelResult } from '../../domain/ports/attemptStore.ts'
import { isEnded } from '../../domain/tasks/task.ts'
import { withTransaction } from '../connection/transaction.ts'
import type { EndTaskDeps } from './failTask.ts'
import { endAsFailed } from './failTask.ts'
import { isUnderWay, lockTaskWithAttempts } from './lockTask.ts'

/**
 * Cancels a live task and releases its hold, unless a call is under way or may have done work. In that case the
 * task continues, and it is charged only if it gets an image. Returns `cancelled` again for a task that was
 * cancelled before.
 */
export async function cancelTask(
  deps: EndTaskDeps,
  taskId: string,
  reason: CancelReason,
): Promise<CancelResult> {
  const result = await withTransaction<CancelResult | 'now_cancelled'>(
    deps.pool,
    async (client) => {
      const task = await lockTaskWithAttempts(client, taskId)
      if (task === undefined) return 'missing'
      if (isEnded(task.status)) return endedResult(client, taskId)
      const open = task.attempts.find((attempt) => attempt.closedAtMs === null)
      if (open !== undefined && isUnderWay(task, open)) return 'call_under_way'
      if (mayHaveWorked(task.attempts)) return 'work_possible'
      const clientLeft = reason === 'client_left'
      const lifetimes = clientLeft ? { ...deps, inputRetentionSeconds: 0 } : deps
      const cause = clientLeft ? 'client_left' : 'cancelled'
      await endAsFailed(client, lifetimes, task, {
        code: 'cancelled',
        cause,
        workPossible: false,
      })
      return 'now_cancelled'
    },
  )
  if (result !== 'now_cancelled') return result
  deps.announceEnd(taskId)
  return 'cancelled'
}

async function endedResult(client: PoolClient, taskId: string): Promise<CancelResult> {
  const { rows } = await client.query<{ result: 'cancelled' | 'succeeded' | 'failed' }>({
    name: 'ended-result',
    text: `select case when failure_code = 'cancelled' then 'cancelled' else status end as result
      from task where task_id = $1`,
    values: [taskId],
  })
  return rows[0]?.result ?? 'missing'
}
