import { assertNever } from './assertNever.ts'
import type { FailureCause, TaskFailureCode } from './failure.ts'
import type { Route } from './imageRequest.ts'
import { pollIntervalSeconds } from './limits.ts'
import type { ImageMimeType, ModelId } from './models.ts'
import type { NativeResponse } from './nativeResponse.ts'

/** Statuses of the row. `expired` is no state: a succeeded task reads so after its retention. */
export const taskStatuses = ['queued', 'processing', 'succeeded', 'failed'] as const
export type TaskStatus = (typeof taskStatuses)[number]

/** Whether a task has come to its end: its status, its money and its record never change again. */
export function isEnded(status: TaskStatus): boolean {
  return status === 'succeeded' || status === 'failed'
}

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

/** Spec: the lookup is polled every 2 to 5 seconds. */
const soonestSeconds = 2
const latestSeconds = 5

/**
 * When to ask again about a task in flight, from what its workflow does now: soon when the image is
 * being stored, later when it waits out a rate limit. A hint in a header, so it may change its mind,
 * which progress and status may not.
 */
export function pollAfterSeconds(live: LiveStatus | undefined, nowMs: number): number {
  if (live === undefined) return pollIntervalSeconds
  switch (live.stage) {
    case 'storing':
      return soonestSeconds
    case 'waiting': {
      const waitSeconds = Math.ceil(((live.untilMs ?? nowMs) - nowMs) / 1000)
      return Math.min(latestSeconds, Math.max(pollIntervalSeconds, waitSeconds))
    }
    case 'calling':
      return pollIntervalSeconds
    default:
      return assertNever(live)
  }
}
