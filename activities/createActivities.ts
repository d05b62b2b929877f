import type { CancelTaskDeps } from './cancelTask.ts'
import { createCancelTaskActivity } from './cancelTask.ts'
import type { ProduceImageDeps } from './produceImage.ts'
import { createProduceImageActivity } from './produceImage.ts'
import type { RecordFailureDeps } from './recordFailure.ts'
import { createRecordFailureActivity } from './recordFailure.ts'

export type ActivityDeps = ProduceImageDeps & RecordFailureDeps & CancelTaskDeps

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
