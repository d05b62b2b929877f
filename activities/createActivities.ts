import { reportingUnexpected } from './applicationFailure.ts'
import type { ProduceImageActivityDeps } from './produceImageActivity.ts'
import { createProduceImageActivity } from './produceImageActivity.ts'
import type { CancelReason, CancelResult } from '../src/store/tasks/ends.ts'

type ActivityDeps = ProduceImageActivityDeps & {
  readonly cancelTask: (taskId: string, reason: CancelReason) => Promise<CancelResult>
}

/**
 * Creates the activities of the workflow. Histories contain the activities' names, so these names must never
 * change.
 */
export function createActivities(deps: ActivityDeps) {
  return {
    produceImage: createProduceImageActivity(deps),
    /**
     * Cancels a task, unless a call may have done work. It also returns true when the task was already cancelled. So if
     * Temporal repeats the activity, the second execution returns the same.
     */
    cancelTask: ({ taskId }: { readonly taskId: string }): Promise<boolean> =>
      reportingUnexpected(deps.log, { step: 'cancelTask', taskId }, async () => {
        return (await deps.cancelTask(taskId, 'asked')) === 'cancelled'
      }),
  }
}

/** The type of the activities. The workflow imports nothing else from this folder. */
export type Activities = ReturnType<typeof createActivities>
