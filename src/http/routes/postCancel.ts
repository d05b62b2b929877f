import { succeed } from '../../domain/result.ts'
import { taskId, taskRecord } from '../../schema/answers/recordAnswer.ts'
import { recordOf } from '../answers/recordOf.ts'
import { cancelErrors } from '../errorTable.ts'
import { jsonRoute } from '../extensionRoute.ts'

export const cancelTaskRoute = jsonRoute({
  method: 'POST',
  path: '/v1/tasks/{task_id}/cancel',
  id: 'cancelTask',
  summary: 'Cancel a task',
  description:
    'Ends the task as `failed` with the code `cancelled`, at no charge. A cancelled task gets the same answer again. While a call of the upstream model is under way, and after a call that may have done work, the task is not cancelled. Synchronous calls that wait for the task get a 500 with the code `cancelled`, and its Idempotency-Key stays with it.',
  params: { task_id: taskId },
  answer: [200, 'The record of the cancelled task.', taskRecord],
  answerHeaders: ['X-Credits-Charged'],
  errors: ['task_not_found', ...cancelErrors],
  run: async (parts, { context, caller }) => {
    const { taskId = '' } = context.params
    const cancelled = await parts.tasks.cancel(caller, taskId)
    if (!cancelled.ok) return cancelled
    context.state.taskId = taskId
    context.set('X-Credits-Charged', '0')
    return succeed(recordOf(parts, cancelled.value))
  },
})
