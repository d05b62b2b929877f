import type { ReportUnexpected } from './applicationFailure.ts'
import { reportingUnexpected, waitFailure } from './applicationFailure.ts'
import type { ProduceImageDeps } from './produceImage.ts'
import { createProduceImageActivity } from './produceImage.ts'
import type { TaskFailure } from '../src/domain/failure.ts'
import { presenceEveryMs } from '../src/domain/limits.ts'
import type { FailResult } from '../src/domain/ports/attemptStore.ts'

type ActivityDeps = ProduceImageDeps & RecordFailureDeps & CancelTaskDeps

/** The activities of the workflow. Histories contain their names, so the names never change. */
export function createActivities(deps: ActivityDeps) {
  return {
    produceImage: createProduceImageActivity(deps),
    recordFailure: createRecordFailureActivity(deps),
    cancelTask: createCancelTaskActivity(deps),
  }
}

/** The only thing that the workflow imports from this folder. */
export type Activities = ReturnType<typeof createActivities>

type RecordFailureDeps = {
  /**
   * Settles a stored answer if there is one; otherwise fails the task and releases its hold, unless a call
   * is under way. See `src/tasks/settleOrFail.ts`.
   */
  readonly settleOrFail: (taskId: string, failure: TaskFailure) => Promise<FailResult>
  readonly onUnexpected: ReportUnexpected
}

/**
 * Records the end of a task without an image. A repeated run returns `over` and changes nothing. An
 * operator can fail `produceImage` in the middle of a call: this activity then waits for the call.
 */
export function createRecordFailureActivity({ settleOrFail, onUnexpected }: RecordFailureDeps) {
  return async ({
    taskId,
    failure,
  }: {
    readonly taskId: string
    readonly failure: TaskFailure
  }): Promise<Exclude<FailResult, 'call_under_way'>> => {
    const result = await reportingUnexpected(
      onUnexpected,
      { activity: 'recordFailure', taskId },
      () => settleOrFail(taskId, failure),
    )
    if (result !== 'call_under_way') return result
    const wait = { kind: 'wait', delayMs: presenceEveryMs, reason: 'call_under_way' } as const
    throw waitFailure(wait, Date.now())
  }
}

type CancelTaskDeps = {
  /** False when a call is under way or may have done work, and when the task has ended. */
  readonly cancelTask: (taskId: string) => Promise<boolean>
  /** Whether the task ended as `cancelled`, for any reason. */
  readonly isCancelled: (taskId: string) => Promise<boolean>
  readonly onUnexpected: ReportUnexpected
}

/**
 * Cancels a task unless a call may have done work. Also true when the task was already cancelled, so
 * that a repeated run returns the same.
 */
export function createCancelTaskActivity(deps: CancelTaskDeps) {
  return ({ taskId }: { readonly taskId: string }): Promise<boolean> =>
    reportingUnexpected(deps.onUnexpected, { activity: 'cancelTask', taskId }, async () => {
      return (await deps.cancelTask(taskId)) || (await deps.isCancelled(taskId))
    })
}
