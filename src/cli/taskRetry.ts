import type { Command } from 'commander'
import { Option } from 'commander'
import type { Answer } from './answer.ts'
import { valueOf } from './answer.ts'
import { createCommand } from './createCommand.ts'
import type { CliContext } from './cliContext.ts'
import type { ManyOptions } from './many.ts'
import { dryRunAnswer, manyAnswer, requireOneOrMany, withCounts, withManyOptions } from './many.ts'
import { defined } from '../domain/defined.ts'
import { taskFailureCodes } from '../domain/failure.ts'
import type { Since } from '../domain/lists/since.ts'
import type { RetriedMany, RetryFilter } from '../operations/manyTasks.ts'
import { retryTasks } from '../operations/manyTasks.ts'
import type { Retried } from '../operations/tasks.ts'
import { retryTask } from '../operations/tasks.ts'
import { parseSince, parseTaskId } from './parse.ts'

type RetryOptions = ManyOptions & {
  readonly account?: string
  readonly code?: RetryFilter['failureCode']
  readonly since?: Since
}

/** `task retry`: retries one failed task by its id, or many by their account, failure code and age. */
export function retryCommand(context: CliContext): Command {
  const command = createCommand(
    'retry',
    'retry a failed task, or many: each becomes a new task, for which credits are held at the current price',
    'task retry task_0a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTu',
    'task retry --code upstream_error --since 2h --dry-run',
    'task retry --code rate_limit_exceeded --since 1d --limit 500',
  )
    .argument('[id]', 'task id', parseTaskId)
    .option('--account <name>', 'all failed tasks of this account')
    .addOption(
      new Option('--code <code>', 'all tasks that failed with this code').choices(taskFailureCodes),
    )
    .option(
      '--since <when>',
      'all failed tasks accepted in the last 30m, 2h, 1d, or since an ISO 8601 time',
      parseSince,
    )
  return withManyOptions(command, 'tasks', 'retried').action(
    async (taskId: string | undefined, options: RetryOptions) => {
      const { limit, account, code, since } = options
      const dryRun = options.dryRun === true
      const filter = defined({ account, failureCode: code, createdAfter: since })
      const given = { one: taskId !== undefined, many: Object.keys(filter).length > 0, dryRun }
      requireOneOrMany(command, given, choices)
      const operator = await context.operator()
      if (taskId !== undefined) {
        const retried = valueOf(await retryTask(operator, taskId))
        return context.show({ json: retried, text: retriedText(retried) })
      }
      const result = await withCounts(context, 'retried', (onProgress) =>
        retryTasks(operator, { filter, limit, dryRun, onProgress }),
      )
      return context.show(retriedAnswer(valueOf(result), limit))
    },
  )
}

const choices = { one: 'a task id', choices: '--account, --code or --since' }

function retriedAnswer(result: RetriedMany, limit: number): Answer {
  if ('would_retry' in result) {
    return dryRunAnswer(result, result.would_retry, limit, 'No failed tasks found.')
  }
  const done = result.retried.map(retriedText)
  const refused = result.refused.map(({ message }) => message)
  return manyAnswer(result, { done, refused }, limit, 'retried')
}

function retriedText({ task_id, retry_of }: Retried): string {
  return `${retry_of} is retried as ${task_id}.`
}
