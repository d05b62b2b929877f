import type { TaskFailure } from '../src/domain/failure.ts'
import { unexpectedFailure } from './applicationFailure.ts'
import type { ProduceImageDeps } from './produceImage.ts'
import { createProduceImageActivity } from './produceImage.ts'

type ActivityDeps = ProduceImageDeps & RecordFailureDeps & CancelTaskDeps

/** Everything the workflow asks of the world. The names stand in histories: they never change. */
export function createActivities(deps: ActivityDeps) {
  return {
    produceImage: createProduceImageActivity(deps),
    recordFailure: createRecordFailureActivity(deps),
    cancelTask: createCancelTaskActivity(deps),
  }
}

/** The workflow imports this type and nothing else of the room. */
export type Activities = ReturnType<typeof createActivities>

type RecordFailureDeps = {
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

type CancelTaskDeps = {
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

/** Tells the log of an error that is no expected end: a bug, or PostgreSQL or the blob store away. */
export type ReportUnexpected = (seen: {
  readonly activity: 'produceImage' | 'recordFailure' | 'cancelTask'
  readonly taskId: string
  readonly error: unknown
}) => void
