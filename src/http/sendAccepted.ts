import { pollIntervalSeconds } from '../domain/limits.ts'
import type { Accepted } from '../tasks/taskService.ts'
import type { ApiContext } from './apiContext.ts'
import { sendJson } from './sendJson.ts'

/** Spec, Task accepted response; a replay answers the original body (design section 4). */
export function sendAccepted(context: ApiContext, accepted: Accepted, publicUrl: string): void {
  context.set('Location', taskUrl(publicUrl, accepted.taskId))
  context.set('Retry-After', String(pollIntervalSeconds))
  sendJson(context, 202, {
    task_id: accepted.taskId,
    status: 'queued',
    created_at: Math.floor(accepted.createdAtMs / 1000),
  })
}

export function taskUrl(publicUrl: string, taskId: string): string {
  return `${publicUrl}/v1/tasks/${taskId}`
}
