import type { TaskFailureCode } from '../failure.ts'
import type { Action, ImageSize, ModelId, Quality } from '../models/models.ts'
import type { ImageRequest } from '../tasks/imageRequest.ts'
import type { TaskTerms } from '../tasks/taskTerms.ts'
import type { PublicStatus, TaskStatus, TaskView } from '../tasks/task.ts'

/** An instant, given as milliseconds before PostgreSQL's now or as epoch milliseconds. */
export type Since = { readonly agoMs: number } | { readonly atMs: number }

export type TaskFilter = {
  /** The account's name. */
  readonly account?: string
  readonly status?: PublicStatus
  readonly model?: ModelId
  readonly failureCode?: TaskFailureCode
  readonly since?: Since
  /** Whether to leave out tasks that were retried. */
  readonly notRetried?: boolean
  readonly limit: number
}

export type ListedTask = { readonly task: TaskView; readonly accountName: string }

/** Everything about one task except its prompt. */
export type TaskDetail = ListedTask & {
  readonly action: Action
  readonly size?: ImageSize
  readonly quality?: Quality
  /**
   * When the task was created, in milliseconds. `task.createdAtMs` is the same instant in whole seconds, as
   * clients see it.
   */
  readonly acceptedAtMs: number
  readonly deadlineAtMs: number
  readonly purgeAtMs?: number
  readonly retryOf?: string
  readonly retriedAs?: string
  /** The span of the client that asked, as `readTraceparent` returns it. */
  readonly traceparent?: string
  /** The events so far, in the order of time. */
  readonly timeline: readonly TimelineEvent[]
}

/** One event of a task. `atMs` is an instant. The names in `detail` are JSON names. */
export type TimelineEvent = {
  readonly atMs: number
  readonly event:
    | 'accepted'
    | 'held'
    | 'started'
    | 'attempt_opened'
    | 'stored'
    | 'attempt_closed'
    | 'settled'
    | 'released'
    | 'succeeded'
    | 'failed'
    | 'expired'
    | 'webhook'
  readonly detail: Readonly<Record<string, string | number>>
}

export type RetryInput = {
  /** The failed task. */
  readonly taskId: string
  /** The id that the new task gets. */
  readonly newTaskId: string
  readonly termsOf: (request: ImageRequest) => TaskTerms
}

export type RetryResult =
  /** `taskId` is the id of the new task. */
  | { readonly kind: 'retried'; readonly taskId: string }
  /** There is no such task, or the task is due for the purge. */
  | { readonly kind: 'unknown' }
  | { readonly kind: 'not_failed'; readonly status: TaskStatus }
  /** `taskId` is the id of the task that the earlier retry made. */
  | { readonly kind: 'already_retried'; readonly taskId: string }
  /** The prompt or the input images are already deleted. */
  | { readonly kind: 'inputs_gone' }
  /** The account does not have the credits that the new task costs. */
  | { readonly kind: 'insufficient'; readonly credits: number }

/** The operator's view of tasks. Implemented in `src/store/tasks/`. */
export type TaskAdmin = {
  /**
   * Returns the tasks that match the filter, newest first. Of the expired tasks of all accounts it returns those that
   * expired last, unless `since` limits their age.
   */
  readonly listTasks: (filter: TaskFilter) => Promise<readonly ListedTask[]>
  /**
   * Returns one snapshot of the task. Returns `undefined` when there is no such task, or it is due for the
   * purge.
   */
  readonly readTaskDetail: (taskId: string) => Promise<TaskDetail | undefined>
  /**
   * Retries a failed task in one transaction. Inserts a new task with its own hold, which takes over the
   * inputs of the failed task. A task can be retried once. Unless the result is `retried`, nothing has
   * changed.
   */
  readonly retryTask: (input: RetryInput) => Promise<RetryResult>
}
