import { taskIdPattern } from '../../domain/ids.ts'
import { noFields } from '../../schema/extensionRequest.ts'
import { sendJson } from '../answers/sendBody.ts'
import type { AccountHandler, ApiParts } from '../context.ts'
import { receiveFields, withQuery } from '../extensionRoute.ts'
import { recordOf } from '../answers/recordOf.ts'
import { malformedTaskId } from '../intake/requestedTask.ts'

/**
 * `POST /v1/tasks/{task_id}/cancel`: cancels a task and answers with its record. The same request again gets
 * the same answer, so a client may repeat it until it is answered.
 */
export function cancelTask(parts: ApiParts): AccountHandler {
  return withQuery(noFields, async (context, caller) => {
    const fields = await receiveFields(parts, context, caller, noFields)
    if (!fields.ok) return fields.failure
    const { taskId = '' } = context.params
    if (!taskIdPattern.test(taskId)) return malformedTaskId
    const cancelled = await parts.tasks.cancel(caller, taskId)
    if (!cancelled.ok) return cancelled.failure
    context.state.taskId = taskId
    context.set('X-Credits-Charged', '0')
    sendJson(context, 200, recordOf(parts, cancelled.value))
    return undefined
  })
}
