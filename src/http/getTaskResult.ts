import { assertNever } from '../domain/assertNever.ts'
import { publicStatus } from '../domain/taskRecord.ts'
import type { AccountHandler } from './apiContext.ts'
import type { ApiParts } from './apiParts.ts'
import { requestedTask } from './requestedTask.ts'
import { sendNative } from './sendNative.ts'

/** `GET …/{task_id}/result`: the native response with the bytes inside (design section 4). */
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
