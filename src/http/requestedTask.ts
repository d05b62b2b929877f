import type { Caller } from '../domain/caller.ts'
import { taskIdPattern } from '../domain/ids.ts'
import type { RequestFailure } from '../domain/requestFailure.ts'
import { invalidRequest } from '../domain/requestFailure.ts'
import type { Result } from '../domain/result.ts'
import { fail } from '../domain/result.ts'
import type { TaskView } from '../domain/taskState.ts'
import type { RouteContext } from './apiContext.ts'
import type { ApiParts } from './apiParts.ts'

/** Design section 4, Small print: not a secret whose shape must be hidden, so 400 and not 404. */
const malformedTaskId: RequestFailure = invalidRequest(
  'invalid_request',
  'task_id',
  'The task id is malformed.',
)

/** The caller's own task that the path names. */
export async function requestedTask(
  parts: Pick<ApiParts, 'tasks'>,
  context: RouteContext,
  caller: Caller,
): Promise<Result<TaskView, RequestFailure>> {
  const { taskId = '' } = context.params
  if (!taskIdPattern.test(taskId)) return fail(malformedTaskId)
  const read = await parts.tasks.read(caller, taskId)
  if (read.ok) context.state.taskId = taskId
  return read
}
