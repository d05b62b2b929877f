import { mapValue } from '../../domain/result.ts'
import { taskId, taskRecord } from '../../schema/answers/recordAnswer.ts'
import { recordOf } from '../answers/recordOf.ts'
import { jsonRoute } from '../extensionRoute.ts'

export const deleteTaskRoute = jsonRoute({
  method: 'DELETE',
  path: '/v1/tasks/{task_id}',
  id: 'deleteTask',
  summary: 'Delete the image and the contents of a task',
  description:
    'Deletes the image, the source images, the prompt and the native response of an ended task for good. Answers when the bytes are gone; after a 500 send it again: until then nothing is served. A deleted task gets the same answer again. Its record, its charge and its Idempotency-Key stay.',
  params: { task_id: taskId },
  answer: [200, 'The record, which reads `expired`, or `failed` as before.', taskRecord],
  errors: ['task_not_found', 'task_not_finished'],
  run: async (parts, { context, caller }) => {
    const { taskId = '' } = context.params
    const deleted = await parts.tasks.delete(caller, taskId)
    if (deleted.ok) context.state.taskId = taskId
    return mapValue(deleted, (task) => recordOf(parts, task))
  },
})
