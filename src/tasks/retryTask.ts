import type { RandomBytes } from '../domain/ids.ts'
import { newTaskId } from '../domain/ids.ts'
import type { RetryResult } from '../store/tasks/retryTask.ts'
import type { TaskAdmin } from '../store/tasks/taskStore.ts'
import type { TaskTermsDeps } from '../domain/tasks/taskTerms.ts'
import { taskTerms } from '../domain/tasks/taskTerms.ts'

type RetryTaskDeps = TaskTermsDeps & {
  readonly admin: Pick<TaskAdmin, 'retryTask'>
  readonly randomBytes: RandomBytes
}

/**
 * Creates the function that retries a failed task. The function makes the new task's id and computes its terms:
 * today's price and a new deadline. `src/store/tasks/retryTask.ts` checks whether the failed task can be retried,
 * and inserts the new task. The reconciler then starts the workflow of the new task.
 */
export function createRetryTask(deps: RetryTaskDeps) {
  return (taskId: string): Promise<RetryResult> =>
    deps.admin.retryTask({
      taskId,
      newTaskId: newTaskId(deps.randomBytes),
      termsOf: (request) => taskTerms(deps, request),
    })
}
