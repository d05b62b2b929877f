import type { Command } from 'commander'
import { Option } from 'commander'
import { CommandError } from './answer.ts'
import { createCommand } from './command.ts'
import type { CliContext } from './context.ts'
import { assertNever } from '../domain/assertNever.ts'
import { defined } from '../domain/defined.ts'
import type { TaskFailureCode } from '../domain/failure.ts'
import { taskFailureCodes } from '../domain/failure.ts'
import type { RetryResult } from '../store/tasks/retryTask.ts'
import type { Since } from '../store/tasks/listTasks.ts'
import { parseLimit, parseSince, parseTaskId } from './parse.ts'

type RetryOptions = {
  readonly code?: TaskFailureCode
  readonly since?: Since
  readonly limit: number
  readonly dryRun?: true
}

/** `task retry`: retries one failed task by its id, or many by their failure code and age. */
export function retryCommand(context: CliContext): Command {
  return createCommand(
    'retry',
    'retry a failed task, or many: each becomes a new task, for which credits are held at the current price',
    'task retry task_0a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTu',
    'task retry --code upstream_error --since 2h --dry-run',
    'task retry --code rate_limit_exceeded --since 1d --limit 500',
  )
    .argument('[id]', 'task id', parseTaskId)
    .addOption(
      new Option('--code <code>', 'all tasks that failed with this code').choices(taskFailureCodes),
    )
    .option(
      '--since <when>',
      'all failed tasks accepted in the last 30m, 2h, 1d, or since an ISO 8601 time',
      parseSince,
    )
    .option('--limit <n>', 'maximum number of tasks, newest first', parseLimit, 100)
    .option('--dry-run', 'only list the tasks that would be retried')
    .action(async (taskId: string | undefined, options: RetryOptions, command: Command) => {
      const many = options.code !== undefined || options.since !== undefined
      if (many === (taskId !== undefined)) {
        command.error('error: give either a task id, or --code or --since for many tasks')
      }
      if (taskId === undefined) return retryMany(context, options)
      if (options.dryRun === true) command.error('error: --dry-run requires --code or --since')
      return retryOne(context, taskId)
    })
}

async function retryOne(context: CliContext, taskId: string): Promise<void> {
  const result = await (await (await context.database()).createRetryTask())(taskId)
  if (result.kind !== 'retried') throw new CommandError(failureText(taskId, result))
  context.show({
    json: { task_id: result.taskId, retry_of: taskId },
    text: retriedText(taskId, result.taskId),
  })
}

/**
 * Retries failed tasks that nobody has retried yet, newest first, one after the other. When a task cannot be
 * retried, continues with the next task, and the exit code is 1 at the end.
 */
async function retryMany(context: CliContext, options: RetryOptions): Promise<void> {
  const { code, since, limit } = options
  const { tasks, createRetryTask } = await context.database()
  const filter = { status: 'failed', notRetried: true, limit } as const
  const listed = await tasks.listTasks({ ...filter, ...defined({ failureCode: code, since }) })
  const taskIds = listed.map(({ task }) => task.taskId)
  if (options.dryRun === true) {
    context.show({
      json: { would_retry: taskIds },
      text: taskIds.length === 0 ? 'No failed tasks found.' : taskIds.join('\n'),
    })
    return
  }
  const retried: { readonly task_id: string; readonly retry_of: string }[] = []
  const refused: { readonly task_id: string; readonly reason: string; readonly message: string }[] =
    []
  const retryTask = await createRetryTask()
  const soFar = () =>
    `${retried.length} of ${taskIds.length} tasks retried, ${refused.length} refused`
  await context.withProgress(soFar, async () => {
    for (const taskId of taskIds) {
      const result = await retryTask(taskId)
      if (result.kind === 'retried') {
        retried.push({ task_id: result.taskId, retry_of: taskId })
      } else {
        const message = failureText(taskId, result)
        refused.push({ task_id: taskId, reason: result.kind, message })
      }
    }
  })
  context.show({
    json: { retried, refused },
    text: [
      ...retried.map(({ retry_of, task_id }) => retriedText(retry_of, task_id)),
      ...refused.map(({ message }) => message),
      `${retried.length} retried, ${refused.length} refused.`,
    ].join('\n'),
    exitCode: refused.length === 0 ? 0 : 1,
  })
}

function retriedText(taskId: string, newTaskId: string): string {
  return `${taskId} is retried as ${newTaskId}.`
}

function failureText(
  taskId: string,
  result: Exclude<RetryResult, { readonly kind: 'retried' }>,
): string {
  switch (result.kind) {
    case 'unknown':
      return `There is no task ${taskId}.`
    case 'not_failed':
      return `${taskId} is ${result.status}: only a failed task can be retried.`
    case 'already_retried':
      return `${taskId} was already retried as ${result.taskId}.`
    case 'inputs_gone':
      return `${taskId} cannot be retried: its prompt or its source images are no longer stored.`
    case 'insufficient':
      return `${taskId} cannot be retried: it costs ${result.credits} credits, more than the account has available.`
    default:
      return assertNever(result)
  }
}
