import type { TaskView } from '../../domain/tasks/task.ts'
import { chargedCredits } from '../../domain/tasks/task.ts'
import type { ApiContext } from '../context.ts'

/** Returns the URL where a client reads the record of a task, for the `Location` header. */
export function taskUrl(publicUrl: string, taskId: string): string {
  return `${publicUrl}/v1/tasks/${taskId}`
}

/**
 * Sets `X-Credits-Charged`, which says what an ended task has cost. Sets nothing while the task is live,
 * because its cost is not known yet.
 */
export function setCreditsCharged(context: ApiContext, task: TaskView): void {
  const charged = chargedCredits(task)
  if (charged !== undefined) context.set('X-Credits-Charged', String(charged))
}
