import { taskIdPattern } from '../../domain/ids.ts'
import { taskId, taskRecord } from '../../schema/answers/taskRecord.ts'
import { recordOf } from '../answers/recordOf.ts'
import { sendJson } from '../answers/sendBody.ts'
import { extensionRoute } from '../extensionRoute.ts'
import { malformedTaskId } from '../intake/requestedTask.ts'
import { json } from '../route.ts'

export const cancelTaskRoute = extensionRoute({
  method: 'POST',
  path: '/v1/tasks/{task_id}/cancel',
  id: 'cancelTask',
  summary: 'Cancel a task',
  description:
    'Ends the task as `failed` with the code `cancelled`, at no charge. A cancelled task gets the same answer again. While a call of the upstream model is under way, and after a call that may have done work, the task is not cancelled. Synchronous calls that wait for the task get a 500 with the code `cancelled`, and its Idempotency-Key stays with it.',
  params: { task_id: taskId },
  answers: {
    200: {
      description: 'The record of the cancelled task.',
      headers: ['X-Credits-Charged'],
      content: json(taskRecord),
    },
  },
  errors: ['malformed_task_id', 'task_not_found', 'task_not_cancellable'],
  handler: (parts) => async (context, caller) => {
    const { taskId = '' } = context.params
    if (!taskIdPattern.test(taskId)) return malformedTaskId
    const cancelled = await parts.tasks.cancel(caller, taskId)
    if (!cancelled.ok) return cancelled.failure
    context.state.taskId = taskId
    context.set('X-Credits-Charged', '0')
    sendJson(context, 200, recordOf(parts, cancelled.value))
    return undefined
  },
})
