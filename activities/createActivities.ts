import { reportingUnexpected } from './applicationFailure.ts'
import type { ProduceImageActivityDeps } from './produceImageActivity.ts'
import { createProduceImageActivity } from './produceImageActivity.ts'
import type { CancelReason, CancelResult } from '../src/store/tasks/ends.ts'
import type { Activities } from '../workflows/contract.ts'

type ActivityDeps = ProduceImageActivityDeps & {
  readonly cancelTask: (taskId: string, reason: CancelReason) => Promise<CancelResult>
}

/** Creates the activities of the workflow. */
export function createActivities(deps: ActivityDeps): Activities {
  return {
    produceImage: createProduceImageActivity(deps),
    /**
     * Cancels a task, unless a call may have done work. It also returns true when the task was already cancelled. So if
     * Temporal repeats the activity, the second execution returns the same.
     */
    cancelTask: ({ taskId }) =>
      reportingUnexpected(deps.log, { step: 'cancelTask', taskId }, async () => {
        return (await deps.cancelTask(taskId, 'asked')) === 'cancelled'
      }),
  }
}
