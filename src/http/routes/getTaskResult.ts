import { assertNever } from '../../domain/assertNever.ts'
import { publicStatus } from '../../domain/tasks/taskRecord.ts'
import { sendNative } from '../answers/sendNative.ts'
import type { AccountHandler, ApiParts } from '../context.ts'
import { requestedTask } from '../intake/requestedTask.ts'

/**
 * `GET /v1/tasks/{task_id}/result` and `GET /v1/task/{task_id}/result`: answers with the native response and
 * the image bytes in it. A synchronous call gets the same body.
 */
export function getTaskResult(parts: ApiParts): AccountHandler {
  return async (context, caller) => {
    const read = await requestedTask(parts, context, caller)
    if (!read.ok) return read.failure
    const status = publicStatus(read.value)
    switch (status) {
      case 'queued':
      case 'processing':
        return { tag: 'task_not_finished' }
      case 'failed':
        return { tag: 'task_failed' }
      case 'expired':
        return { tag: 'task_not_found' }
      case 'succeeded':
        await sendNative(context, parts, read.value)
        return undefined
      default:
        return assertNever(status)
    }
  }
}
