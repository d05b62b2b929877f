import type { Command } from 'commander'
import { Option } from 'commander'
import type { Answer } from './answer.ts'
import { valueOf } from './answer.ts'
import { createCommand } from './createCommand.ts'
import type { CliContext } from './cliContext.ts'
import type { ManyOptions } from './many.ts'
import { dryRunAnswer, manyAnswer, requireOneOrMany, withCounts, withManyOptions } from './many.ts'
import { defined } from '../domain/defined.ts'
import type { Since } from '../domain/lists/since.ts'
import type { CancelFilter, CancelledMany } from '../operations/manyTasks.ts'
import { cancelTasks } from '../operations/manyTasks.ts'
import { cancelTaskAndRun } from '../operations/tasks.ts'
import { parseModel, parseSince, parseTaskId } from './parse.ts'

/** `task cancel`: cancels one task by its id, or many by their account, status, model and age. */
export function cancelCommand(context: CliContext): Command {
  const command = createCommand(
    'cancel',
    'cancel a task, or many, and release their credits; refused (exit code 1) if an upstream call is under way or may have done work',
    'task cancel task_0a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTu',
    'task cancel --account acme --status queued --dry-run',
  )
    .argument('[id]', 'task id', parseTaskId)
    .option('--account <name>', 'all live tasks of this account')
    .addOption(
      new Option('--status <status>', 'all tasks with this status').choices([
        'queued',
        'processing',
      ]),
    )
    .option('--model <model>', 'all live tasks for this model', parseModel)
    .option(
      '--since <when>',
      'all live tasks accepted in the last 30m, 2h, 1d, or since an ISO 8601 time',
      parseSince,
    )
  return withManyOptions(command, 'tasks', 'cancelled').action(
    async (
      taskId: string | undefined,
      options: ManyOptions & CancelFilter & { readonly since?: Since },
    ) => {
      const { limit, account, status, model, since } = options
      const dryRun = options.dryRun === true
      const filter = defined({ account, status, model, createdAfter: since })
      const given = { one: taskId !== undefined, many: Object.keys(filter).length > 0, dryRun }
      requireOneOrMany(command, given, choices)
      const operator = await context.operator()
      if (taskId !== undefined)
        return context.show(oneAnswer(await cancelTaskAndRun(operator, taskId)))
      const result = await withCounts(context, 'cancelled', (onProgress) =>
        cancelTasks(operator, { filter, limit, dryRun, onProgress }),
      )
      return context.show(cancelledAnswer(valueOf(result), limit))
    },
  )
}

const choices = { one: 'a task id', choices: '--account, --status, --model or --since' }

/** Returns the answer about one task. A refusal is an answer too, with exit code 1. */
function oneAnswer(result: Awaited<ReturnType<typeof cancelTaskAndRun>>): Answer {
  if (result.ok || result.failure.kind === 'not_found') {
    return { json: valueOf(result), text: 'Cancelled. The credits of the task are released.' }
  }
  return { json: { cancelled: false }, text: result.failure.message, exitCode: 1 }
}

function cancelledAnswer(result: CancelledMany, limit: number): Answer {
  if ('would_cancel' in result) {
    return dryRunAnswer(result, result.would_cancel, limit, 'No live tasks found.')
  }
  const done = result.cancelled.map((taskId) => `${taskId} is cancelled.`)
  const refused = result.refused.map(({ task_id, message }) => `${task_id}: ${message}`)
  return manyAnswer(result, { done, refused }, limit, 'cancelled')
}
