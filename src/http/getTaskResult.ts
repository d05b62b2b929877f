import { assertNever } from '../domain/assertNever.ts'
import { publicStatus } from '../domain/taskRecord.ts'
import type { AccountHandler } from './apiContext.ts'
import type { ApiParts } from './apiParts.ts'
import type { HttpFailure } from './httpFailure.ts'
import { requestedTask } from './requestedTask.ts'
import { sendNative } from './sendNative.ts'

const expired: HttpFailure = { tag: 'task_not_found' }

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
        return expired
      case 'succeeded':
        return sendNative(context, parts, read.value, expired)
      default:
        return assertNever(status)
    }
  }
}
