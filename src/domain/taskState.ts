import type { FailureCause, TaskFailureCode } from './taskFailure.ts'
import type { ImageMimeType, ModelId } from './models.ts'
import type { Route } from './imageRequest.ts'
import type { NativeResponse } from './upstreamOutcome.ts'

/** Statuses of the row. `expired` is no state: a succeeded task reads so after its retention. */
export const taskStatuses = ['queued', 'processing', 'succeeded', 'failed'] as const
export type TaskStatus = (typeof taskStatuses)[number]

/** What a client may see: the record's four, and `expired` (design, lifetimes). */
export type PublicStatus = TaskStatus | 'expired'

/**
 * A task as the lookup reads it: one row of PostgreSQL, with `now` of the same statement, since the
 * database's clock is the only one that decides. All times are epoch milliseconds.
 */
export type TaskView = {
  readonly taskId: string
  readonly accountId: string
  readonly route: Route
  readonly model: ModelId
  readonly status: TaskStatus
  readonly createdAtMs: number
  readonly nowMs: number
  readonly processingAtMs?: number
  readonly completedAtMs?: number
  readonly expiresAtMs?: number
  readonly failure?: {
    readonly code: TaskFailureCode
    readonly cause: FailureCause
    readonly workPossible: boolean
    readonly retryAfterMs?: number
  }
  readonly asset?: TaskAsset
  /** Around the image, until its bytes are gone. Of a task that is read alone, not of one in a list. */
  readonly native?: NativeResponse
}

/** The finished image of a succeeded task. `answerId` is its place in the blob store. */
export type TaskAsset = {
  readonly answerId: string
  readonly mimeType: ImageMimeType
  readonly bytes: number
  readonly sha256: string
}

/** What the workflow knows beyond the row, from `describe` (design 1.15). */
export type LiveStatus =
  | { readonly stage: 'waiting'; readonly untilMs?: number }
  | { readonly stage: 'calling' }
  | { readonly stage: 'storing' }
