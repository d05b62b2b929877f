import { unexpectedFailure } from './applicationFailure.ts'
import type { ReportUnexpected } from './reportUnexpected.ts'

export type CancelTaskDeps = {
  /** Design 1.11: false when a call is under way or may have done work, and when the task has ended. */
  readonly cancelTask: (taskId: string) => Promise<boolean>
  /** Whether the task has ended as `cancelled`, by whomever. */
  readonly isCancelled: (taskId: string) => Promise<boolean>
  readonly onUnexpected: ReportUnexpected
}

/** Cancels a task that no call was made for. True also when it was cancelled before: safe to repeat. */
export function createCancelTaskActivity(deps: CancelTaskDeps) {
  return async ({ taskId }: { readonly taskId: string }): Promise<boolean> => {
    try {
      return (await deps.cancelTask(taskId)) || (await deps.isCancelled(taskId))
    } catch (error) {
      deps.onUnexpected({ activity: 'cancelTask', taskId, error })
      throw unexpectedFailure(error)
    }
  }
}
