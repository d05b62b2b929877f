import type { Caller } from '../../domain/accounts/account.ts'
import type { RequestFailure } from '../../domain/failure.ts'
import { invalidRequest } from '../../domain/failure.ts'
import { taskIdPattern } from '../../domain/ids.ts'
import type { Result } from '../../domain/result.ts'
import { fail } from '../../domain/result.ts'
import type { TaskView } from '../../domain/tasks/task.ts'
import type { ApiParts, RouteContext } from '../context.ts'

/**
 * Returns the task that the path names, if it belongs to the caller. For a task of another account, answers
 * the same as for a task that does not exist. A malformed id gets a 400, which reveals nothing, because the
 * form of task ids is public.
 */
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

/** The failure for a path whose task id does not have the form of one. */
export const malformedTaskId = invalidRequest(
  'invalid_request',
  'task_id',
  'The task id is malformed.',
)
