import type { ReportUnexpected } from './applicationFailure.ts'
import { reportingUnexpected, waitFailure } from './applicationFailure.ts'
import type { ProduceImageActivityDeps } from './produceImageActivity.ts'
import { createProduceImageActivity } from './produceImageActivity.ts'
import type { TaskFailure } from '../src/domain/failure.ts'
import { callCheckMs } from '../src/domain/limits.ts'
import type { AttemptStore, FailResult } from '../src/domain/ports/attemptStore.ts'

type ActivityDeps = ProduceImageActivityDeps & RecordFailureDeps & CancelTaskDeps

/**
 * Creates the activities of the workflow. Histories contain the activities' names, so these names must never
 * change.
 */
export function createActivities(deps: ActivityDeps) {
  return {
    produceImage: createProduceImageActivity(deps),
    recordFailure: createRecordFailureActivity(deps),
    cancelTask: createCancelTaskActivity(deps),
  }
}

/** The type of the activities. The workflow imports nothing else from this folder. */
export type Activities = ReturnType<typeof createActivities>

type RecordFailureDeps = {
  /**
   * Settles the task if an answer is stored. Otherwise fails the task and releases its hold, unless a call is
   * under way. Returns `over` when the task had already ended. See `src/tasks/settleOrFail.ts`.
   */
  readonly settleOrFail: (taskId: string, failure: TaskFailure) => Promise<FailResult>
  readonly onUnexpected: ReportUnexpected
}

/**
 * Creates the activity that records the end of a task without an image. If Temporal repeats the activity, the
 * second execution returns `over` and changes nothing. An operator can fail `produceImage` in the middle of a
 * call. Then this activity waits for the call.
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
    const wait = { kind: 'wait', delayMs: callCheckMs, reason: 'call_under_way' } as const
    throw waitFailure(wait, Date.now())
  }
}

type CancelTaskDeps = {
  readonly cancelTask: AttemptStore['cancelTask']
  readonly onUnexpected: ReportUnexpected
}

/**
 * Creates the activity that cancels a task, unless a call may have done work. It also returns true when the
 * task was already cancelled. So if Temporal repeats the activity, the second execution returns the same.
 */
export function createCancelTaskActivity(deps: CancelTaskDeps) {
  return ({ taskId }: { readonly taskId: string }): Promise<boolean> =>
    reportingUnexpected(deps.onUnexpected, { activity: 'cancelTask', taskId }, async () => {
      return (await deps.cancelTask(taskId, 'asked')) === 'cancelled'
    })
}
