import { assertNever } from '../domain/assertNever.ts'
import { taskIdPattern } from '../domain/ids.ts'
import { publicStatus } from '../domain/taskRecord.ts'
import type { AccountHandler } from './apiContext.ts'
import type { ApiParts } from './apiParts.ts'
import { malformedTaskId } from './getTask.ts'
import { sendNative } from './sendNative.ts'

/** `GET …/{task_id}/result`: the native response with the bytes inside (design section 4). */
export function getTaskResult(parts: ApiParts): AccountHandler {
  return async (context, caller) => {
    const { taskId = '' } = context.params
    if (!taskIdPattern.test(taskId)) return malformedTaskId
    const read = await parts.tasks.read(caller, taskId)
    if (!read.ok) return read.failure
    context.state.taskId = taskId
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
        return sendNative(context, parts, read.value)
      default:
        return assertNever(status)
    }
  }
}
