import { assertNever } from '../../domain/assertNever.ts'
import { publicStatus } from '../../domain/taskRecord.ts'
import { sendNative } from '../answers/sendNative.ts'
import type { AccountHandler, ApiParts } from '../context.ts'
import { requestedTask } from './getTask.ts'

/**
 * `GET /v1/tasks/{task_id}/result`, and the same under `/v1/task/`: the native response with the image bytes
 * inside, exactly as a synchronous call answers it.
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
