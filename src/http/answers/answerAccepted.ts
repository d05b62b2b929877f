import { pollIntervalSeconds } from '../../domain/limits.ts'
import type { ApiContext, ApiParts } from '../context.ts'
import type { AnswerAccepted } from '../intake/acceptRequest.ts'

/** Spec, Task accepted response; a replay answers the original body (design section 4). */
export function answerAccepted(context: ApiContext, parts: ApiParts): AnswerAccepted {
  return async ({ taskId, createdAtMs }) => {
    context.set('Location', taskUrl(parts.config.publicUrl, taskId))
    context.set('Retry-After', String(pollIntervalSeconds))
    sendJson(context, 202, {
      task_id: taskId,
      status: 'queued',
      created_at: Math.floor(createdAtMs / 1000),
    })
    return undefined
  }
}

export function taskUrl(publicUrl: string, taskId: string): string {
  return `${publicUrl}/v1/tasks/${taskId}`
}

/** Koa would add a charset parameter, which `application/json` does not have. */
export function sendJson(context: ApiContext, status: number, value: object): void {
  context.status = status
  context.set('Content-Type', 'application/json')
  context.body = JSON.stringify(value)
}
