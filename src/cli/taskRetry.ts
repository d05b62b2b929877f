import type { Command } from 'commander'
import { Option } from 'commander'
import type { Since } from '../domain/ports/taskAdmin.ts'
import type { TaskFailureCode } from '../domain/failure.ts'
import { taskFailureCodes } from '../domain/failure.ts'
import type { CliContext } from './context.ts'
import { leaf } from './leaf.ts'
import { parseLimit, parseSince, parseTaskId } from './parse.ts'
import { Refusal } from './refusal.ts'
import { retryMany } from './retryMany.ts'
import { whyNot } from './retryRefusal.ts'

type Options = {
  readonly code?: TaskFailureCode
  readonly since?: Since
  readonly limit: number
  readonly dryRun?: true
}

/** `task retry`: JSON `task_id, retry_of` for one; `retried, refused` or `would_retry` for many. */
export function taskRetry(context: CliContext): Command {
  return leaf({
    usage: 'retry',
    description: 'turn a failed task into a new one, held at the present price; or many at once',
    examples: [
      'task retry task_0a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTu',
      'task retry --code upstream_error --since 2h --dry-run',
      'task retry --code rate_limit_exceeded --since 1d --limit 500',
    ],
  })
    .argument('[id]', 'task id', parseTaskId)
    .addOption(new Option('--code <code>', 'all that failed with this').choices(taskFailureCodes))
    .option('--since <when>', 'all that were accepted since: 30m, 2h, 1d, ISO 8601', parseSince)
    .option('--limit <n>', 'at most so many, newest first', parseLimit, 100)
    .option('--dry-run', 'only tell which')
    .action(async (taskId: string | undefined, options: Options, command: Command) => {
      const { code, since } = options
      const many = code !== undefined || since !== undefined
      if (many === (taskId !== undefined)) {
        command.error('error: name one task, or several by --code or --since')
      }
      if (taskId === undefined) return retryMany(context, options)
      if (options.dryRun === true) command.error('error: --dry-run goes with --code or --since')
      return retryOne(context, taskId)
    })
}

async function retryOne(context: CliContext, taskId: string): Promise<void> {
  const result = await (await context.parts.retryTask())(taskId)
  if (result.kind !== 'retried') throw new Refusal(whyNot(taskId, result))
  context.show({
    json: { task_id: result.taskId, retry_of: taskId },
    text: `${taskId} is retried as ${result.taskId}.`,
  })
}
