import { succeed } from '../domain/result.ts'
import type { TaskView } from '../domain/tasks/task.ts'
import type { AnswerOf } from '../schema/answerOf.ts'
import type { cancelledMany, retriedMany } from '../schema/operators/operatorTasks.ts'
import type { TaskFilter } from '../store/tasks/taskLists.ts'
import type { Progress, Refusal } from './doMany.ts'
import { doMany } from './doMany.ts'
import type { CancelDeps, RetryDeps } from './tasks.ts'
import { cancelInDatabase, matchingTasks, retryTask } from './tasks.ts'
import type { Done } from './operation.ts'

/** Which tasks, newest first and at most so many. A dry run only names them. */
export type ManyTasks<Filter> = {
  readonly filter: Filter
  readonly limit: number
  readonly dryRun: boolean
  readonly onProgress?: (progress: Progress) => void
}

export type RetryFilter = Omit<TaskFilter, 'limit' | 'status' | 'isRetryable'>

export type RetriedMany = AnswerOf<typeof retriedMany>

/** Retries failed tasks that nobody has retried yet, and whose request is still stored. */
export async function retryTasks(
  deps: RetryDeps,
  { filter, limit, dryRun, onProgress }: ManyTasks<RetryFilter>,
): Done<RetriedMany> {
  const failed = { ...filter, status: 'failed', isRetryable: true, limit } as const
  const listed = await matchingTasks(deps, failed)
  if (!listed.ok) return listed
  const taskIds = listed.value.data.map(({ task }) => task.taskId)
  if (dryRun) return succeed({ would_retry: taskIds })
  const { done, refused } = await doMany(taskIds, (id) => retryTask(deps, id), onProgress)
  return succeed({ retried: done, refused: refused.map(refusedTask) })
}

export type CancelFilter = Omit<TaskFilter, 'limit' | 'status' | 'isRetryable' | 'failureCode'> & {
  /** Absent: both. */
  readonly status?: 'queued' | 'processing'
}

export type CancelledMany = AnswerOf<typeof cancelledMany>

/** Cancels live tasks. Those with a call under way, or one that may have done work, are refused. */
export async function cancelTasks(
  deps: CancelDeps,
  { filter, limit, dryRun, onProgress }: ManyTasks<CancelFilter>,
): Done<CancelledMany> {
  const found: TaskView[] = []
  const statuses = filter.status === undefined ? liveStatuses : [filter.status]
  for (const status of statuses) {
    const listed = await matchingTasks(deps, { ...filter, status, limit })
    if (!listed.ok) return listed
    found.push(...listed.value.data.map(({ task }) => task))
  }
  const newest = found.toSorted((one, other) => other.createdAtMs - one.createdAtMs)
  // A task that began between the two reads is in both.
  const taskIds = [...new Set(newest.map(({ taskId }) => taskId))].slice(0, limit)
  if (dryRun) return succeed({ would_cancel: taskIds })
  const cancelOne = async (taskId: string) => {
    const result = await cancelInDatabase(deps, taskId)
    return result.ok ? succeed(taskId) : result
  }
  const { done, refused } = await doMany(taskIds, cancelOne, onProgress)
  await deps.endRuns(done)
  return succeed({ cancelled: done, refused: refused.map(refusedTask) })
}

const liveStatuses = ['queued', 'processing'] as const

function refusedTask({ id, ...why }: Refusal & { readonly id: string }) {
  return { task_id: id, ...why }
}
