import type { TaskFailureCode } from '../failure.ts'
import type { ImageRequest, Route } from '../imageRequest.ts'
import type { Action, ImageSize, ModelId, Quality } from '../models.ts'
import type { PublicStatus, TaskStatus, TaskView } from '../task.ts'

/** A moment: so long before the database's now, or a time of its own. Milliseconds. */
export type Since = { readonly agoMs: number } | { readonly atMs: number }

export type TaskFilter = {
  /** The account's name. */
  readonly account?: string
  readonly status?: PublicStatus
  readonly model?: ModelId
  readonly failureCode?: TaskFailureCode
  readonly since?: Since
  /** Leaves out failed tasks that a retry has followed. */
  readonly notRetried?: boolean
  readonly limit: number
}

export type ListedTask = { readonly task: TaskView; readonly accountName: string }

/** Everything that is known of one task but its prompt. Times: epoch milliseconds, to the millisecond. */
export type TaskDetail = ListedTask & {
  readonly action: Action
  readonly route: Route
  readonly size?: ImageSize
  readonly quality?: Quality
  readonly credits: number
  readonly acceptedAtMs: number
  readonly startedAtMs?: number
  readonly deadlineAtMs: number
  readonly purgeAtMs?: number
  readonly retryOf?: string
  readonly retriedAs?: string
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

export type EntryDetail = {
  readonly kind: 'hold' | 'settle' | 'release'
  readonly atMs: number
  readonly credits: number
}

/** What a request costs and how long it may take, if it were accepted now. */
export type RetryTerms = {
  readonly credits: number
  readonly deadlineMs: number
  readonly hardEndMs: number
}

export type RetryResult =
  | { readonly kind: 'retried'; readonly taskId: string }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'not_failed'; readonly status: TaskStatus }
  | { readonly kind: 'already_retried'; readonly taskId: string }
  | { readonly kind: 'inputs_gone' }
  | { readonly kind: 'insufficient'; readonly credits: number }

/** The operator's view of tasks. Implemented in `src/store/`. */
export type TaskAdmin = {
  /** Newest first. */
  readonly listTasks: (filter: TaskFilter) => Promise<readonly ListedTask[]>
  readonly readDetail: (taskId: string) => Promise<TaskDetail | undefined>
  /** One transaction: a failed task becomes `newTaskId`, freshly held, with its inputs handed over. */
  readonly retryTask: (input: {
    readonly taskId: string
    readonly newTaskId: string
    readonly termsOf: (request: ImageRequest) => RetryTerms
  }) => Promise<RetryResult>
}
