import type { TaskFailure } from '../src/domain/taskFailure.ts'
import { unexpectedFailure } from './applicationFailure.ts'
import type { ReportUnexpected } from './reportUnexpected.ts'

export type RecordFailureDeps = {
  /**
   * Settles a stored answer if there is one, else fails the task and releases its hold; `over` when it
   * had ended before. `src/tasks/settleOrFail.ts`.
   */
  readonly settleOrFail: (
    taskId: string,
    failure: TaskFailure,
  ) => Promise<'succeeded' | 'failed' | 'over'>
  readonly onUnexpected: ReportUnexpected
}

/** Records the end of a task without an image. Repeating it answers `over` and changes nothing. */
export function createRecordFailureActivity(deps: RecordFailureDeps) {
  return async (input: {
    readonly taskId: string
    readonly failure: TaskFailure
  }): Promise<'succeeded' | 'failed' | 'over'> => {
    const { taskId, failure } = input
    try {
      return await deps.settleOrFail(taskId, failure)
    } catch (error) {
      deps.onUnexpected({ activity: 'recordFailure', taskId, error })
      throw unexpectedFailure(error)
    }
  }
}
