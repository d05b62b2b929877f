import { assertNever } from '../../domain/assertNever.ts'
import { publicStatus } from '../../domain/tasks/taskRecord.ts'
import { accountRoute } from '../authenticate.ts'
import { sendNative } from '../answers/sendNative.ts'
import type { AccountHandler, ApiParts } from '../context.ts'
import { requestedTask } from '../intake/requestedTask.ts'
import { contentResponse } from '../../schema/answers/contentResponse.ts'
import { imagesResponse } from '../../schema/answers/imagesResponse.ts'
import { taskId } from '../../schema/answers/taskRecord.ts'
import { json, underOtherPath } from '../route.ts'
import { z } from 'zod'

const getTaskResultRoute = accountRoute({
  method: 'GET',
  path: '/v1/tasks/{task_id}/result',
  id: 'getTaskResult',
  summary: 'Read the native response of a task',
  description: 'The same body as a synchronous call gets, with the bytes of the image in it.',
  extension: true,
  envelope: 'short',
  params: { task_id: taskId },
  answers: {
    200: {
      description: 'The native response of the model family.',
      content: json(z.union([imagesResponse, contentResponse])),
    },
  },
  errors: ['malformed_task_id', 'task_not_found', 'task_not_finished', 'task_failed'],
  handler: getTaskResult,
})

export const getTaskResultRoutes = [getTaskResultRoute, underOtherPath(getTaskResultRoute)]

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
