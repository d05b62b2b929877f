import type { TaskFailureCode } from '../failure.ts'
import type { ImageRequest, Route } from '../imageRequest.ts'
import type { Action, ImageSize, ModelId, Quality } from '../models.ts'
import type { PublicStatus, TaskStatus, TaskView } from '../task.ts'

/** An instant: so many milliseconds before PostgreSQL's now, or epoch milliseconds. */
export type Since = { readonly agoMs: number } | { readonly atMs: number }

export type TaskFilter = {
  /** The account's name. */
  readonly account?: string
  readonly status?: PublicStatus
  readonly model?: ModelId
  readonly failureCode?: TaskFailureCode
  readonly since?: Since
  /** Leaves out tasks that were retried. */
  readonly notRetried?: boolean
  readonly limit: number
}

export type ListedTask = { readonly task: TaskView; readonly accountName: string }

/** Everything about one task except its prompt. */
export type TaskDetail = ListedTask & {
  readonly action: Action
  readonly route: Route
  readonly size?: ImageSize
  readonly quality?: Quality
  readonly credits: number
  /** The creation to the millisecond. `task.createdAtMs` is in whole seconds, as clients see it. */
  readonly acceptedAtMs: number
  /** The workflow is known to exist since then. */
  readonly startedAtMs?: number
  readonly deadlineAtMs: number
  readonly purgeAtMs?: number
  readonly retryOf?: string
  readonly retriedAs?: string
  /** Oldest first. */
  readonly attempts: readonly AttemptDetail[]
  readonly entries: readonly EntryDetail[]
}

export type AttemptDetail = {
  readonly n: number
  readonly channel: string
  readonly openedAtMs: number
  readonly closedAtMs?: number
  readonly class?: string
  readonly reason?: string
  readonly httpStatus?: number
  readonly upstreamRequestId?: string
  readonly latencyMs?: number
  readonly retryAfterMs?: number
}

/** A ledger row of the task. */
export type EntryDetail = {
  readonly kind: 'hold' | 'settle' | 'release'
  readonly atMs: number
  readonly credits: number
}

/** The price of a request and its time limits, counted from now. */
export type RetryTerms = {
  readonly credits: number
  readonly deadlineMs: number
  readonly hardEndMs: number
}

export type RetryInput = {
  /** The failed task. */
  readonly taskId: string
  /** The id that the new task gets. */
  readonly newTaskId: string
  readonly termsOf: (request: ImageRequest) => RetryTerms
}

export type RetryResult =
  /** `taskId`: the new task. */
  | { readonly kind: 'retried'; readonly taskId: string }
  /** There is no such task, or it is due for the purge. */
  | { readonly kind: 'unknown' }
  | { readonly kind: 'not_failed'; readonly status: TaskStatus }
  /** `taskId`: the task of the earlier retry. */
  | { readonly kind: 'already_retried'; readonly taskId: string }
  /** The prompt or the inputs are deleted. */
  | { readonly kind: 'inputs_gone' }
  /** The account does not have the credits that the new task costs. */
  | { readonly kind: 'insufficient'; readonly credits: number }

/** The operator's view of tasks. Implemented in `src/store/tasks/`. */
export type TaskAdmin = {
  /** The tasks that match the filter, newest first. */
  readonly listTasks: (filter: TaskFilter) => Promise<readonly ListedTask[]>
  /** One snapshot of the task. `undefined`: there is no such task, or it is due for the purge. */
  readonly readDetail: (taskId: string) => Promise<TaskDetail | undefined>
  /**
   * Inserts a new task with its own hold for a failed one, which hands its inputs over, in one
   * transaction. A task is retried at most once. Every result except `retried` has changed nothing.
   */
  readonly retryTask: (input: RetryInput) => Promise<RetryResult>
}
