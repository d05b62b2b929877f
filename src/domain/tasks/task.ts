import type { TaskFailure } from '../failure.ts'
import type { JsonObject } from '../json.ts'
import type { Route } from './imageRequest.ts'
import type { Family, ImageMimeType, ModelId } from '../models/models.ts'
import type { NativeResponse } from '../upstream/nativeResponse.ts'

/** The statuses in a task's row. `expired` is not among them: `publicStatus` computes it. */
export const taskStatuses = ['queued', 'processing', 'succeeded', 'failed'] as const
export type TaskStatus = (typeof taskStatuses)[number]

/** Returns whether a task has ended. The status and the money of an ended task never change again. */
export function isEnded(status: TaskStatus): boolean {
  return status === 'succeeded' || status === 'failed'
}

/** The statuses that a client sees. */
export const publicStatuses = [...taskStatuses, 'expired'] as const
export type PublicStatus = (typeof publicStatuses)[number]

/**
 * A task as its row describes it. `nowMs` is PostgreSQL's clock, read by the same statement, because only
 * that clock decides. Instants are epoch milliseconds.
 */
export type TaskView = {
  readonly taskId: string
  readonly accountId: string
  readonly route: Route
  readonly family: Family
  readonly model: ModelId
  readonly status: TaskStatus
  /** The price, which was held when the task was accepted. */
  readonly credits: number
  /** What went back of it, because the image is smaller than asked. Absent: nothing. */
  readonly refundedCredits?: number
  readonly createdAtMs: number
  readonly nowMs: number
  /** When the task's run was first known to exist. Absent for a task without a run. */
  readonly startedAtMs?: number
  readonly processingAtMs?: number
  readonly completedAtMs?: number
  readonly expiresAtMs?: number
  readonly failure?: TaskFailure
  readonly asset?: TaskAsset
  /** The native response. It is kept until the image expires, and is absent in lists. */
  readonly native?: NativeResponse
  /** The answer with which a model of family A rejected the request. Absent in lists. */
  readonly rejection?: JsonObject
}

/** Returns what an ended task has cost its account, and `undefined` for a live task. */
export function chargedCredits({
  status,
  credits,
  refundedCredits = 0,
}: Pick<TaskView, 'status' | 'credits' | 'refundedCredits'>): number | undefined {
  if (!isEnded(status)) return undefined
  return status === 'succeeded' ? credits - refundedCredits : 0
}

/** The finished image of a succeeded task. `answerId` is the prefix of its blob keys. */
export type TaskAsset = {
  readonly answerId: string
  readonly mimeType: ImageMimeType
  readonly bytes: number
  readonly sha256: string
}

/** What the run of a live task does now, as Temporal knows it. The task's row says only `queued` or `processing`. */
export type RunStage =
  /** Its first execution waits for a worker. */
  | { readonly stage: 'accepted' }
  | { readonly stage: 'waiting'; readonly untilMs?: number }
  | { readonly stage: 'calling' }
  | { readonly stage: 'storing' }
