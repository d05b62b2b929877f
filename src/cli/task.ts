import type { Command } from 'commander'
import { Option } from 'commander'
import { accountNamed, CommandError, existing, fields, shortTime, table } from './answer.ts'
import { isoTime, isoTimeOrNull } from '../domain/isoTime.ts'
import { createCommand, createGroup } from './command.ts'
import type { CliContext } from './context.ts'
import { assertNever } from '../domain/assertNever.ts'
import { defined } from '../domain/defined.ts'
import { modelIds } from '../domain/models/models.ts'
import type { ListedTask, TaskFilter } from '../store/tasks/listTasks.ts'
import type { CancelResult } from '../store/tasks/ends.ts'
import type { TaskDetail, TimelineEvent } from '../store/tasks/readTaskDetail.ts'
import { taskStatuses } from '../domain/tasks/task.ts'
import type { TaskRecord } from '../domain/tasks/taskRecord.ts'
import { publicStatus, taskRecord } from '../domain/tasks/taskRecord.ts'
import { parseLimit, parseSince, parseTaskId } from './parse.ts'
import { historyCommand, replayCommand } from './taskHistory.ts'
import { retryCommand } from './taskRetry.ts'

/** Makes the commands `task list`, `show`, `history`, `replay`, `retry` and `cancel`. */
export function taskCommands(context: CliContext): Command {
  const makers = [list, show, historyCommand, replayCommand, retryCommand, cancel]
  return createGroup(context, 'task', 'tasks', makers)
}

/**
 * `task list`: lists tasks. The JSON has the API's task records, without `result`. Each record also has the
 * name of its account.
 */
function list(context: CliContext): Command {
  return createCommand(
    'list',
    'list tasks, newest first',
    'task list --status failed --since 1h',
    'task list --account acme --limit 200 --json',
  )
    .option('--account <name>', 'only tasks of this account')
    .addOption(
      new Option('--status <status>', 'only tasks with this status').choices([
        ...taskStatuses,
        'expired',
      ]),
    )
    .addOption(new Option('--model <model>', 'only tasks for this model').choices(modelIds))
    .option(
      '--since <when>',
      'only tasks accepted in the last 30m, 2h, 1d, or since an ISO 8601 time',
      parseSince,
    )
    .option('--limit <n>', 'maximum number of tasks', parseLimit, 50)
    .action(async (filter: TaskFilter) => {
      const { capabilities, assetUrl } = await context.service()
      const { tasks, accounts } = await context.database()
      const listed = await tasks.listTasks(filter)
      if (listed.length === 0 && filter.account !== undefined) {
        existing(await accounts.findAccount(filter.account), accountNamed(filter.account))
      }
      const models = await capabilities()
      const rows = listed.map(({ task, accountName }: ListedTask) => {
        const url = assetUrl(task)
        const published = url === undefined ? undefined : { url }
        const record = taskRecord(task, models[task.model].usualDurationMs, published)
        return { ...record, account: accountName }
      })
      context.show({ json: rows, text: taskTable(rows) })
    })
}

function taskTable(rows: readonly (TaskRecord & { readonly account: string })[]): string {
  return table(
    ['TASK', 'ACCOUNT', 'MODEL', 'STATUS', 'PROGRESS', 'CREATED', 'COMPLETED', 'ERROR'],
    rows.map((row) => [
      row.task_id,
      row.account,
      row.model,
      row.status,
      row.progress,
      shortTime(Date.parse(row.created_at)),
      shortTime(row.completed_at === undefined ? undefined : Date.parse(row.completed_at)),
      row.error?.code,
    ]),
    'No tasks found.',
  )
}

/** `task show`: shows one task. It cannot show the prompt, because `TaskDetail` does not contain it. */
function show(context: CliContext): Command {
  return createCommand(
    'show',
    'show a task and the timeline of its events',
    'task show task_0a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTu',
  )
    .argument('<id>', 'task id', parseTaskId)
    .action(async (taskId: string) => {
      const { tasks } = await context.database()
      const detail = existing(await tasks.readTaskDetail(taskId), `task ${taskId}`)
      const { workflowUrl } = await context.service()
      // Temporal has a run only for a task whose workflow was started. A synchronous task whose first call decided
      // its end has no workflow.
      const hasRun = detail.task.startedAtMs !== undefined
      const summary = taskSummary(detail, hasRun ? workflowUrl(taskId) : undefined)
      const { timeline } = detail
      context.show({
        json: { ...summary, timeline: timeline.map(eventJson) },
        text: `${fields(summary)}\n\n${timelineText(timeline)}`,
      })
    })
}

function taskSummary(detail: TaskDetail, workflowUrl: string | undefined) {
  const { task } = detail
  return defined({
    task_id: task.taskId,
    account: detail.accountName,
    model: task.model,
    action: detail.action,
    size: detail.size,
    quality: detail.quality,
    route: task.route,
    status: publicStatus(task),
    credits: task.credits,
    created_at: isoTime(task.createdAtMs),
    deadline_at: isoTime(detail.deadlineAtMs),
    expires_at: isoTimeOrNull(task.expiresAtMs),
    purge_at: isoTimeOrNull(detail.purgeAtMs),
    retry_of: detail.retryOf,
    retried_as: detail.retriedAs,
    traceparent: detail.traceparent,
    workflow_url: workflowUrl,
  })
}

function eventJson({ atMs, event, detail }: TimelineEvent) {
  return { at: isoTime(atMs), event, ...detail }
}

/** Returns one line per event, with the seconds since the first event. */
function timelineText(timeline: readonly TimelineEvent[]): string {
  const firstAtMs = timeline[0]?.atMs ?? 0
  return timeline
    .map(({ atMs, event, detail }) => {
      const elapsed = `+${((atMs - firstAtMs) / 1_000).toFixed(3)} s`.padStart(12)
      const details = Object.entries(detail).map(([name, value]) => `${name}=${value}`)
      return `${elapsed}  ${event.padEnd(14)}  ${details.join('  ')}`.trimEnd()
    })
    .join('\n')
}

function cancel(context: CliContext): Command {
  return createCommand(
    'cancel',
    'cancel a task and release its credits; refused (exit code 1) if an upstream call is under way or may have done work',
    'task cancel task_0a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTu',
  )
    .argument('<id>', 'task id', parseTaskId)
    .action(async (taskId: string) => {
      const result = await (await context.database()).cancelTask(taskId)
      if (result === 'missing') throw new CommandError(`There is no task ${taskId}.`)
      const cancelled = result === 'cancelled'
      context.show({ json: { cancelled }, text: cancelText(result), exitCode: cancelled ? 0 : 1 })
    })
}

function cancelText(result: Exclude<CancelResult, 'missing'>): string {
  const continues = 'The task continues and is charged if it produces an image.'
  switch (result) {
    case 'cancelled':
      return 'Cancelled. The credits of the task are released.'
    case 'call_under_way':
      return `Not cancelled: an upstream call is under way. ${continues}`
    case 'work_possible':
      return `Not cancelled: an earlier upstream call may have done work. ${continues}`
    case 'succeeded':
    case 'failed':
      return `Not cancelled: the task is ${result}.`
    default:
      return assertNever(result)
  }
}
