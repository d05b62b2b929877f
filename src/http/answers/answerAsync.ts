import { pollIntervalSeconds } from '../../domain/tasks/pollAfter.ts'
import type { ApiContext } from '../requestState.ts'
import type { ApiParts } from '../apiParts.ts'
import type { Accepted } from '../../tasks/acceptTask.ts'
import { sendJson } from './sendBody.ts'

/**
 * Answers 202 as soon as the task exists. A repeated request with the same key gets the same body as the
 * first.
 */
export async function answerAsync(
  context: ApiContext,
  parts: ApiParts,
  { taskId, createdAtMs, credits }: Accepted,
): Promise<undefined> {
  context.set('Location', taskUrl(parts.config.publicUrl, taskId))
  context.set('Retry-After', String(pollIntervalSeconds))
  context.set('X-Credits-Held', String(credits))
  sendJson(context, 202, {
    task_id: taskId,
    status: 'queued',
    created_at: Math.floor(createdAtMs / 1000),
  })
}

/** Returns the URL where a client reads the record of a task, for the `Location` header. */
export function taskUrl(publicUrl: string, taskId: string): string {
  return `${publicUrl}/v1/tasks/${taskId}`
}
