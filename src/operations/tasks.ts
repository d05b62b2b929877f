import { assertNever } from '../domain/assertNever.ts'
import { defined } from '../domain/defined.ts'
import { newTaskId } from '../domain/ids.ts'
import { isoTime } from '../domain/isoTime.ts'
import type { List } from '../domain/lists/list.ts'
import { usualDurationMs } from '../domain/models/modelTable.ts'
import { succeed } from '../domain/result.ts'
import type { TaskView } from '../domain/tasks/task.ts'
import type { TaskRecord } from '../domain/tasks/taskRecord.ts'
import { taskRecord } from '../domain/tasks/taskRecord.ts'
import type { TaskTermsDeps } from '../domain/tasks/taskTerms.ts'
import { taskTerms } from '../domain/tasks/taskTerms.ts'
import { checkSupported } from '../domain/tasks/checkSupported.ts'
import { findAccount } from '../store/accounts/accountRows.ts'
import type { CancelResult } from '../store/tasks/ends.ts'
import * as ends from '../store/tasks/ends.ts'
import type { Lifetimes } from '../store/tasks/lifetimes.ts'
import type { TaskFilter } from '../store/tasks/taskLists.ts'
import * as store from '../store/tasks/taskLists.ts'
import type { TaskSummary, TimelineEvent } from '../store/tasks/readTaskDetail.ts'
import { readTaskDetail } from '../store/tasks/readTaskDetail.ts'
import type { RetryResult } from '../store/tasks/retryTask.ts'
import * as retries from '../store/tasks/retryTask.ts'
import type { ModelDeps } from './accounts.ts'
import { accountNamed } from './accounts.ts'
import { audited } from './audit.ts'
import { csvOf } from '../domain/lists/csv.ts'
import type { Done, OperationDeps } from './operation.ts'
import { listed, missing, refuse } from './operation.ts'

/** The record that the task's client sees, with its account and key. */
export type TaskRow = TaskRecord & { readonly account: string; readonly key_id: string }

export type ListTasksDeps = ModelDeps & {
  /** Returns the address of a task's image. Absent: rows have no addresses. */
  readonly assetUrl?: (task: TaskView) => string | undefined
}

/** Lists tasks, newest first. */
export async function listTasks(deps: ListTasksDeps, filter: TaskFilter): Done<List<TaskRow>> {
  const { assetUrl } = deps
  const matching = await matchingTasks(deps, filter)
  if (!matching.ok) return matching
  const models = deps.models()
  const data = matching.value.data.map(({ task, accountName, keyId }) => {
    const url = assetUrl?.(task)
    const record = taskRecord(task, usualDurationMs(models, task.model), url ? { url } : undefined)
    return { ...record, account: accountName, key_id: keyId }
  })
  return succeed({ ...matching.value, data })
}

const csvColumns = [
  'task_id',
  'account',
  'key_id',
  'model',
  'status',
  'failure_code',
  'created_at',
  'completed_at',
] as const

/** Returns listed tasks as CSV. The last line has their number. */
export function tasksCsv({ data }: List<TaskRow>): string {
  const rows = data.map((row) => ({ ...row, failure_code: row.error?.code }))
  return csvOf([
    csvColumns,
    ...rows.map((row) => csvColumns.map((column) => row[column])),
    ['total', rows.length],
  ])
}

/** Returns the tasks that match, newest first. Refuses the name of no account, and an `after` that was never a task. */
export async function matchingTasks(
  { pool }: Pick<OperationDeps, 'pool'>,
  filter: TaskFilter,
): Done<List<store.ListedTask>> {
  const page = listed(await store.listTasks(pool, filter))
  const { account } = filter
  const mayBeUnknown = page.ok && page.value.data.length === 0 && account !== undefined
  if (mayBeUnknown && (await findAccount(pool, account)) === undefined) {
    return missing(accountNamed(account))
  }
  return page
}

export type ShowTaskDeps = OperationDeps & {
  /** Returns the page of a task's run in Temporal's UI, if it is known. */
  readonly workflowUrl: (taskId: string) => string | undefined
}

export type TaskStory = TaskSummary & { readonly timeline: readonly EventJson[] }

/** Returns all that is known of a task except its prompt, with the timeline of its events. */
export async function showTask(
  { pool, workflowUrl }: ShowTaskDeps,
  taskId: string,
): Done<TaskStory> {
  const detail = await readTaskDetail(pool, taskId)
  if (detail === undefined) return missing(`task ${taskId}`)
  // Temporal has a run only for a task whose workflow was started. A synchronous task whose first call decided
  // its end has no workflow.
  const hasRun = detail.task.startedAtMs !== undefined
  return succeed({
    ...detail.summary,
    ...defined({ workflow_url: hasRun ? workflowUrl(taskId) : undefined }),
    timeline: detail.timeline.map(eventJson),
  })
}

/** An event with its details, which have names of their own. */
export type EventJson = TimelineEvent['detail'] & {
  readonly at: string
  readonly event: TimelineEvent['event']
}

function eventJson({ atMs, event, detail }: TimelineEvent): EventJson {
  return { at: isoTime(atMs), event, ...detail }
}

export type CancelDeps = OperationDeps & {
  readonly lifetimes: Lifetimes
  /** Asks the runs of cancelled tasks to end, which they do later by themselves. Never throws. */
  readonly endRuns: (taskIds: readonly string[]) => Promise<void>
}

/** Cancels a task in PostgreSQL and then its run, unless an upstream call is under way or may have done work. */
export async function cancelTaskAndRun(
  deps: CancelDeps,
  taskId: string,
): Done<{ readonly cancelled: true }> {
  const result = await cancelInDatabase(deps, taskId)
  if (result.ok) await deps.endRuns([taskId])
  return result
}

/** Does the same as `cancelTaskAndRun`, and leaves the run. */
export async function cancelInDatabase(
  deps: OperationDeps & Pick<CancelDeps, 'lifetimes'>,
  taskId: string,
): Done<{ readonly cancelled: true }> {
  const change = { action: 'task.cancel', target: taskId, params: {} }
  return audited(deps, change, async (client) => {
    // No process is told: those that wait for the end of the task read its row each second.
    const { result } = await ends.cancelTask({ ...deps.lifetimes, pool: client }, taskId, 'asked')
    if (result === 'cancelled') return succeed({ cancelled: true })
    if (result === 'missing') return missing(`task ${taskId}`)
    return refuse(result, `Not cancelled: ${whyNot(result)}`)
  })
}

function whyNot(result: Exclude<CancelResult, 'cancelled' | 'missing'>): string {
  const continues = 'The task continues and is charged if it produces an image.'
  switch (result) {
    case 'call_under_way':
      return `an upstream call is under way. ${continues}`
    case 'work_possible':
      return `an earlier upstream call may have done work. ${continues}`
    case 'succeeded':
    case 'failed':
      return `the task is ${result}.`
    default:
      return assertNever(result)
  }
}

export type RetryDeps = OperationDeps & {
  /** Today's prices and the time limits of the channels. Throws without an operator's file. */
  readonly terms: () => TaskTermsDeps
}

export type Retried = { readonly task_id: string; readonly retry_of: string }

/**
 * Retries a failed task: makes a new task with today's price and a new deadline. The reconciler starts its workflow.
 */
export async function retryTask(deps: RetryDeps, taskId: string): Done<Retried> {
  const terms = deps.terms()
  const change = { action: 'task.retry', target: taskId, params: {} }
  return audited(deps, change, async (client) => {
    const result = await retries.retryTask(client, {
      taskId,
      newTaskId: newTaskId(),
      termsOf: (request) => {
        const now = checkSupported(terms.models, { caller: {}, request })
        const takesIt = now.ok && now.value.family === request.family
        return takesIt ? taskTerms(terms, request) : undefined
      },
    })
    if (result.kind === 'retried') return succeed({ task_id: result.taskId, retry_of: taskId })
    if (result.kind === 'unknown') return missing(`task ${taskId}`)
    return refuse(result.kind, `${taskId} ${notRetried(result)}`)
  })
}

function notRetried(result: Exclude<RetryResult, { readonly kind: 'retried' | 'unknown' }>) {
  switch (result.kind) {
    case 'not_failed':
      return `is ${result.status}: only a failed task can be retried.`
    case 'already_retried':
      return `was already retried as ${result.taskId}.`
    case 'inputs_gone':
      return 'cannot be retried: its prompt or its source images are no longer stored.'
    case 'model_gone':
      return 'cannot be retried: its model is retired, is not in the file of the operator any more, or takes no such request.'
    case 'insufficient':
      return `cannot be retried: it costs ${result.credits} credits, more than the account has available.`
    default:
      return assertNever(result)
  }
}
