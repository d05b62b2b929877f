import type { Pool } from 'pg'
import type { TaskFailure } from '../domain/taskFailure.ts'
import type { Lifetimes } from './endTask.ts'
import { endTask } from './endTask.ts'
import { lockTaskWithAttempts } from './lockTask.ts'
import { withTransaction } from './transaction.ts'

/** Ends a live task with a failure and releases its hold; false when it had ended already. */
export function createFailTask(deps: { readonly pool: Pool; readonly lifetimes: Lifetimes }) {
  return async (taskId: string, failure: TaskFailure): Promise<boolean> =>
    withTransaction(deps.pool, async (client) => {
      const task = await lockTaskWithAttempts(client, taskId)
      if (task === undefined || task.status === 'succeeded' || task.status === 'failed')
        return false
      const workPossible = failure.workPossible || mayHaveWorked(task.attempts)
      await endTask(client, task, { ...failure, workPossible }, deps.lifetimes)
      return true
    })
}

/** An open attempt may be working upstream; an unknown one may have worked. */
function mayHaveWorked(attempts: readonly { readonly class: string | null }[]): boolean {
  return attempts.some((attempt) => attempt.class === null || attempt.class === 'unknown')
}
