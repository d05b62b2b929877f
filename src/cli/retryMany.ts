import type { Since, TaskFilter } from '../domain/ports/taskAdmin.ts'
import type { TaskFailureCode } from '../domain/failure.ts'
import type { CliContext } from './context.ts'
import { whyNot } from './retryRefusal.ts'

type Choice = {
  readonly code?: TaskFailureCode
  readonly since?: Since
  readonly limit: number
  readonly dryRun?: true
}

/** Retries failed tasks that no retry has followed, newest first, one after the other. Exit 1 if one is refused. */
export async function retryMany(context: CliContext, choice: Choice): Promise<void> {
  const chosen = await (await context.parts.tasks()).listTasks(filterOf(choice))
  const taskIds = chosen.map(({ task }) => task.taskId)
  if (choice.dryRun === true) {
    context.show({
      json: { would_retry: taskIds },
      text: taskIds.length === 0 ? 'No such failed tasks.' : taskIds.join('\n'),
    })
    return
  }
  const retried: { task_id: string; retry_of: string }[] = []
  const refused: { task_id: string; reason: string; message: string }[] = []
  const retryTask = await context.parts.retryTask()
  for (const taskId of taskIds) {
    const result = await retryTask(taskId)
    if (result.kind === 'retried') retried.push({ task_id: result.taskId, retry_of: taskId })
    else {
      refused.push({ task_id: taskId, reason: result.kind, message: whyNot(taskId, result) })
    }
  }
  context.show({
    json: { retried, refused },
    text: [
      ...retried.map((each) => `${each.retry_of} is retried as ${each.task_id}.`),
      ...refused.map(({ message }) => message),
      `${retried.length} retried, ${refused.length} refused.`,
    ].join('\n'),
    exitCode: refused.length === 0 ? 0 : 1,
  })
}

function filterOf({ code, since, limit }: Choice): TaskFilter {
  return {
    status: 'failed',
    notRetried: true,
    limit,
    ...(code === undefined ? {} : { failureCode: code }),
    ...(since === undefined ? {} : { since }),
  }
}
