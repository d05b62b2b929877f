import type { Command } from 'commander'
import { Option } from 'commander'
import {
  fields,
  isoTime,
  isoTimeOrNull,
  noSuchAccount,
  noSuchTask,
  shortTime,
  table,
} from './answer.ts'
import { createCommand, createCommandGroup } from './command.ts'
import type { CliContext } from './context.ts'
import { assertNever } from '../domain/assertNever.ts'
import { defined } from '../domain/defined.ts'
import { modelIds } from '../domain/models/models.ts'
import type { CancelResult } from '../domain/ports/attemptStore.ts'
import type { ListedTask, TaskFilter } from '../store/tasks/listTasks.ts'
import type { TaskDetail, TimelineEvent } from '../store/tasks/readTaskDetail.ts'
import { taskStatuses } from '../domain/tasks/task.ts'
import type { TaskRecord } from '../domain/tasks/taskRecord.ts'
import { publicStatus, taskRecord } from '../domain/tasks/taskRecord.ts'
import { parseLimit, parseSince, parseTaskId } from './parse.ts'
import { historyCommand, replayCommand } from './taskHistory.ts'
import { retryCommand } from './taskRetry.ts'

/** Makes the commands `task list`, `show`, `history`, `replay`, `retry` and `cancel`. */
export function taskCommands(context: CliContext): Command {
  return createCommandGroup('task', 'tasks', [
    list(context),
    show(context),
    historyCommand(context),
    replayCommand(context),
    retryCommand(context),
    cancel(context),
  ])
}

/**
 * `task list`: lists tasks. The JSON has the API's task records, without `result`. Each record also has the
 * name of its account.
 */
function list(context: CliContext): Command {
  return createCommand({
    usage: 'list',
    description: 'list tasks, newest first',
    examples: [
      'task list --status failed --since 1h',
      'task list --account acme --limit 200 --json',
    ],
  })
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
      const [tasks, capabilities, assetUrl] = await Promise.all([
        context.parts.tasks(),
        context.parts.capabilities(),
        context.parts.assetUrl(),
      ])
      const listed = await tasks.listTasks(filter)
      if (listed.length === 0) await refuseUnknownAccount(context, filter.account)
      const rows = listed.map(({ task, accountName }: ListedTask) => {
        const { usualDurationMs } = capabilities[task.model]
        const url = assetUrl(task)
        const published = url === undefined ? undefined : { url }
        return { ...taskRecord(task, usualDurationMs, published), account: accountName }
      })
      context.show({ json: rows, text: taskTable(rows) })
    })
}

/**
 * Throws `CommandError` when no account has this name. Without this check, a misspelled name would give the same
 * empty list as an account without tasks.
 */
async function refuseUnknownAccount(context: CliContext, name: string | undefined): Promise<void> {
  if (name === undefined) return
  const account = await (await context.parts.accounts()).findAccount(name)
  if (account === undefined) throw noSuchAccount(name)
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
  return createCommand({
    usage: 'show',
    description: 'show a task and the timeline of its events',
    examples: ['task show task_0a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTu'],
  })
    .argument('<id>', 'task id', parseTaskId)
    .action(async (taskId: string) => {
      const detail = await (await context.parts.tasks()).readTaskDetail(taskId)
      if (detail === undefined) throw noSuchTask(taskId)
      // Temporal has a run only for a task whose workflow was started. A synchronous task whose first call decided
      // its end has no workflow.
      const hasRun = detail.task.startedAtMs !== undefined
      const workflowUrl = hasRun ? await context.parts.workflowUrl(taskId) : undefined
      const summary = taskSummary(detail, workflowUrl)
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
  return createCommand({
    usage: 'cancel',
    description:
      'cancel a task and release its credits; refused (exit code 1) if an upstream call is under way or may have done work',
    examples: ['task cancel task_0a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTu'],
  })
    .argument('<id>', 'task id', parseTaskId)
    .action(async (taskId: string) => {
      const result = await (await context.parts.cancelTask())(taskId)
      if (result === 'missing') throw noSuchTask(taskId)
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
