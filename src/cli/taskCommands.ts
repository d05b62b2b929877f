import type { Command } from 'commander'
import { Option } from 'commander'
import { fields, shortTime, table, valueOf } from './answer.ts'
import { createCommand, createGroup } from './createCommand.ts'
import type { CliContext } from './cliContext.ts'
import { defined } from '../domain/defined.ts'
import type { Since } from '../domain/lists/since.ts'
import { publicStatuses } from '../domain/tasks/task.ts'
import { find as findById } from '../operations/overview.ts'
import { purgeTask } from '../operations/taskContents.ts'
import type { TaskRow, TaskStory } from '../operations/tasks.ts'
import { listTasks, showTask } from '../operations/tasks.ts'
import type { TaskFilter } from '../store/tasks/taskLists.ts'
import { moreNote, withPageOptions } from './pageOptions.ts'
import { parseAnyId, parseModel, parseSince, parseTaskId } from './parse.ts'
import { cancelCommand } from './taskCancel.ts'
import { historyCommand, replayCommand } from './taskHistory.ts'
import { retryCommand } from './taskRetry.ts'

/** Makes the commands `task list`, `find`, `show`, `history`, `replay`, `retry`, `cancel` and `purge`. */
export function taskCommands(context: CliContext): Command {
  const lookers = [list, find, show, historyCommand, replayCommand]
  return createGroup(context, 'task', 'tasks', [...lookers, retryCommand, cancelCommand, purge])
}

/**
 * `task list`: lists tasks. The JSON has the API's task records, without `result`. Each record also has the
 * name of its account.
 */
function list(context: CliContext): Command {
  const command = createCommand(
    'list',
    'list tasks, newest first',
    'task list --status failed --since 1h',
    'task list --account acme --limit 200 --json',
  )
    .option('--account <name>', 'only tasks of this account')
    .addOption(
      new Option('--status <status>', 'only tasks with this status').choices(publicStatuses),
    )
    .option('--model <model>', 'only tasks for this model', parseModel)
    .option(
      '--since <when>',
      'only tasks accepted in the last 30m, 2h, 1d, or since an ISO 8601 time',
      parseSince,
    )
    .option('--idempotency-key <key>', 'only tasks that were made with this key, and their retries')
  return withPageOptions(command, 'tasks', parseTaskId).action(
    async ({ since, ...filter }: TaskFilter & { readonly since?: Since }) => {
      const wanted = { ...filter, ...defined({ createdAfter: since }) }
      const { data, has_more } = valueOf(await listTasks(await context.operator(), wanted))
      context.show({
        json: data.map(({ key_id: _key, ...row }) => row),
        text: taskTable(data),
        ...moreNote(has_more, data.at(-1)?.task_id, 'tasks'),
      })
    },
  )
}

function taskTable(rows: readonly TaskRow[]): string {
  return table(
    ['TASK', 'ACCOUNT', 'MODEL', 'STATUS', 'PROGRESS', 'CREATED', 'COMPLETED', 'ERROR'],
    rows.map((row) => [
      row.task_id,
      row.account,
      row.model,
      row.status,
      row.progress,
      shortTime(row.created_at),
      shortTime(row.completed_at),
      row.error?.code,
    ]),
    'No tasks found.',
  )
}

/** `task find`: finds every task, request, key, call or delivery that an id names. */
function find(context: CliContext): Command {
  return createCommand(
    'find',
    'find what a customer names: the id of a task or request, an idempotency key, the id of a vendor or delivery',
    'task find req_0a1B2c3D4e5F6g7H8i9J0kLm',
  )
    .argument('<id>', 'any id', parseAnyId)
    .action(async (id: string) => {
      const { data, has_more: hasMore } = await findById(await context.operator(), id)
      const rows = data.map((row) => [row.kind, row.id, row.account ?? undefined, row.matched])
      const text = table(['KIND', 'ID', 'ACCOUNT', 'MATCHED'], rows, 'Nothing found.')
      const note = hasMore ? `There are more: these are the first ${data.length}.` : undefined
      context.show({ json: data, text, exitCode: data.length === 0 ? 1 : 0, ...defined({ note }) })
    })
}

/** `task show`: shows one task, without its prompt. */
function show(context: CliContext): Command {
  return createCommand(
    'show',
    'show a task and the timeline of its events',
    'task show task_0a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTu',
  )
    .argument('<id>', 'task id', parseTaskId)
    .action(async (taskId: string) => {
      const story = valueOf(await showTask(await context.operator(), taskId))
      const { timeline, ...summary } = story
      context.show({
        json: story,
        text: `${fields(defined(summary))}\n\n${timelineText(timeline)}`,
      })
    })
}

/** `task purge`: deletes what clients sent and got of one ended task. */
function purge(context: CliContext): Command {
  return createCommand(
    'purge',
    'delete the image, source images, prompt and native response of an ended task for good; its record stays',
    'task purge task_0a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTu',
  )
    .argument('<id>', 'task id', parseTaskId)
    .action(async (taskId: string) => {
      const json = valueOf(await purgeTask(await context.operator(), taskId))
      context.show({ json, text: `${taskId} is purged: its bytes are gone from the blob store.` })
    })
}

/** Returns one line per event, with the seconds since the first event. */
function timelineText(timeline: TaskStory['timeline']): string {
  const firstAtMs = Date.parse(timeline[0]?.at ?? '')
  return timeline
    .map(({ at, event, ...detail }) => {
      const elapsed = `+${((Date.parse(at) - firstAtMs) / 1_000).toFixed(3)} s`.padStart(12)
      const details = Object.entries(detail).map(([name, value]) => `${name}=${value}`)
      return `${elapsed}  ${event.padEnd(14)}  ${details.join('  ')}`.trimEnd()
    })
    .join('\n')
}
