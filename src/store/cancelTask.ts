import type { Pool } from 'pg'
import type { Lifetimes } from './endTask.ts'
import { endTask } from './endTask.ts'
import { lockTaskWithAttempts } from './lockTask.ts'
import { withTransaction } from './transaction.ts'

/**
 * Cancels a live task and releases its hold, unless a call is under way or may have done work: then it
 * finishes and is charged (design 1.11). The same compare-and-set serves a client that has gone, the
 * CLI and a cancelled workflow.
 */
export function createCancelTask(deps: { readonly pool: Pool; readonly lifetimes: Lifetimes }) {
  return async (taskId: string): Promise<boolean> =>
    withTransaction(deps.pool, async (client) => {
      const task = await lockTaskWithAttempts(client, taskId)
      if (task === undefined || task.status === 'succeeded' || task.status === 'failed')
        return false
      const worked = task.attempts.some(
        (attempt) => attempt.class === null || attempt.class === 'unknown',
      )
      if (worked) return false
      const failure = { code: 'cancelled', cause: 'cancelled', workPossible: false } as const
      await endTask(client, task, failure, deps.lifetimes)
      return true
    })
}
