import type { RandomBytes } from '../domain/ids.ts'
import { newTaskId } from '../domain/ids.ts'
import type { RetryResult, TaskAdmin } from '../domain/ports/taskAdmin.ts'
import type { TaskTermsDeps } from '../domain/tasks/taskTerms.ts'
import { taskTerms } from '../domain/tasks/taskTerms.ts'

type RetryTaskDeps = TaskTermsDeps & {
  readonly admin: Pick<TaskAdmin, 'retryTask'>
  readonly randomBytes: RandomBytes
}

/**
 * Creates the function that retries a failed task. The function inserts a new task with today's price and a
 * new deadline. The reconciler then starts the workflow of the new task.
 */
export function createRetryTask(deps: RetryTaskDeps) {
  return (taskId: string): Promise<RetryResult> =>
    deps.admin.retryTask({
      taskId,
      newTaskId: newTaskId(deps.randomBytes),
      termsOf: (request) => taskTerms(deps, request),
    })
}
