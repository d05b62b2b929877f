import type { TaskView } from '../tasks/task.ts'
import { taskRecord } from '../tasks/taskRecord.ts'
import type { ClaimedDelivery } from './delivery.ts'

/**
 * Returns the event that the receiver gets. The event of a task contains the task's record as it was when the task
 * ended, without the native response. So the status of a succeeded task is `succeeded`, even if its image has expired
 * by now. A delivery without a task and without data is a test of the webhook. `assetUrl` returns the signed URL of the
 * task's image, or `undefined` when the task has no image.
 */
export function eventOfDelivery(
  { event, webhookId, createdAtMs, task, data: told }: ClaimedDelivery,
  assetUrl: (task: TaskView) => string | undefined,
): object {
  if (task === undefined) {
    const timestamp = new Date(createdAtMs).toISOString()
    return { type: event, timestamp, data: told ?? { webhook_id: webhookId } }
  }
  const endedAtMs = task.completedAtMs ?? createdAtMs
  const asEnded = { ...task, nowMs: endedAtMs }
  const url = assetUrl(task)
  // The 1 stands for the usual duration of the model. The record needs this duration only for the progress of a task
  // that has not ended.
  const data = taskRecord(asEnded, 1, url === undefined ? undefined : { url })
  return { type: event, timestamp: new Date(endedAtMs).toISOString(), data }
}
