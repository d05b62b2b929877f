import type { TaskFailure } from '../failure.ts'
import type { WaitReason } from '../gate/taskFacts.ts'
import type { JsonObject } from '../json.ts'
import type { ModelId } from '../models/models.ts'
import type { ImageRequest } from '../tasks/imageRequest.ts'
import type { Channel } from '../upstream/channel.ts'
import type { AnswerMeta } from '../upstream/answerMeta.ts'
import type { OutcomeClass, OutcomeEvidence } from '../upstream/upstreamCall.ts'

export type BeginInput = {
  readonly taskId: string
  /** The number of the open attempt, if the caller has looked for its stored answer and found none. */
  readonly checked?: number
  /**
   * The id under which the answer of a new attempt is stored, used for this question alone. When the
   * question gets no answer, `abandonAttempt` finds the attempt by it. Default: a random id.
   */
  readonly answerId?: string
  /** Default: `workflow`. */
  readonly via?: Via
  /**
   * The largest request that the caller has memory for, in bytes of its stored text. A larger one is not
   * read. Default: any request.
   */
  readonly requestBytesMax?: number
}

/** How a task came to the worker: as an offer of an API process, or through the activity of its workflow. */
export type Via = 'offer' | 'workflow'

/** An attempt by the answer id that its worker chose before it asked the gate. */
export type AbandonedAttempt = { readonly taskId: string; readonly answerId: string }

/** An attempt whose call must be made now. */
export type OpenedAttempt = {
  readonly n: number
  readonly channel: Channel
  /** The upload where the answer is stored. */
  readonly answerId: string
  /** The Idempotency-Key for the upstream. */
  readonly upstreamKey: string
  /** Limit for the call: the channel's timeout, or less near the task's hard end. */
  readonly timeoutMs: number
  /** Time until the task's hard end. During this time a failed write to the blob store is tried again. */
  readonly hardEndMs: number
  readonly model: ModelId
  /** Returns the request once. It may have many megabytes, so nothing but the call should hold it. */
  readonly takeRequest: () => ImageRequest
}

export type BeginResult =
  | { readonly kind: 'opened'; readonly attempt: OpenedAttempt }
  /**
   * An earlier attempt is still open. Look for its stored answer. If there is none, begin again with
   * `checked: n`.
   */
  | { readonly kind: 'unchecked'; readonly n: number; readonly answerId: string }
  /**
   * The task may call, but its request is larger than `requestBytesMax`. Nothing was opened. Get memory for
   * `bytes` and begin again.
   */
  | { readonly kind: 'needs_room'; readonly accountId: string; readonly bytes: number }
  /** No call may be made now. Begin again after `delayMs`. */
  | {
      readonly kind: 'wait'
      readonly delayMs: number
      readonly reason: WaitReason
      readonly channel?: string
    }
  /** The task must end without an image. It is still live, so call `failTask`. */
  | { readonly kind: 'end'; readonly failure: TaskFailure }
  /** The task has ended or was purged, so there is nothing to do. */
  | { readonly kind: 'over' }

/** The outcome of the call of attempt `n`. Attempts of a task are counted from 1. */
export type AttemptOutcome = {
  readonly n: number
  readonly class: OutcomeClass
  readonly evidence: OutcomeEvidence
  readonly retryAfterMs?: number
}

/** The outcome of a call that brought no image. For a call with an image, `settleTask` closes the attempt. */
export type AttemptClose = AttemptOutcome & {
  readonly taskId: string
  readonly class: Exclude<OutcomeClass, 'succeeded'>
  /** The answer with which a family A model rejected the request, for a synchronous caller. */
  readonly nativeRejection?: JsonObject
}

/** A stored answer to publish. */
export type SettleInput = {
  readonly meta: AnswerMeta
  readonly answerId: string
  /** What was observed of the call that brought the answer. Absent when another process made the call. */
  readonly evidence?: OutcomeEvidence
}

/**
 * What `failTask` did or found. Only `failed` changed the task.
 * - `call_under_way`: its worker is present, or has been silent for too short a time. Ask again later.
 * - `succeeded`: the task has ended with an image.
 * - `over`: the task has ended without an image, or is purged.
 */
export type FailResult = 'failed' | 'call_under_way' | 'succeeded' | 'over'

/**
 * Why a task is cancelled.
 * - `asked`: a client, an operator or Temporal asked for it. This is final: the idempotency key stays with the
 *   cancelled task.
 * - `client_left`: the last client of a synchronous call has disconnected. The call may be sent again, so its
 *   idempotency key is freed, and nobody needs the inputs of the task any more.
 */
export type CancelReason = 'asked' | 'client_left'

/**
 * What `cancelTask` did or found.
 * - `cancelled`: the task is cancelled, by this call or before.
 * - `call_under_way`: an upstream call is under way. The task continues.
 * - `work_possible`: an earlier call may have done work. The task continues.
 * - `succeeded`, `failed`: the task had already ended, not as cancelled.
 * - `missing`: there is no such task, or it is purged.
 */
export type CancelResult =
  | 'cancelled'
  | 'call_under_way'
  | 'work_possible'
  | 'succeeded'
  | 'failed'
  | 'missing'

/**
 * The transactions of a task's execution. Each is atomic and safe to repeat. A transaction that ends a task
 * first locks it, and ends it only if it is still live. So when several ends are tried at once, the first one
 * wins. Implemented in `src/store/attempts/` and `src/store/tasks/`.
 */
export type AttemptStore = {
  /** The gate. Decides whether the task may call upstream now, and opens the attempt if so. */
  readonly beginAttempt: (input: BeginInput) => Promise<BeginResult>
  /**
   * Returns the failure with which a task must end instead of its first call, if the gate would end it now. Writes
   * nothing and takes no lock.
   */
  readonly endOfFirstCall: (taskId: string) => Promise<TaskFailure | undefined>
  /**
   * Closes an attempt and updates its channel. Does nothing when the outcome is already known. An attempt
   * that counted as lost gets the outcome that its worker saw.
   */
  readonly closeAttempt: (close: AttemptClose) => Promise<void>
  /**
   * Makes sure that no attempt with this answer id is open, now or later, because its call was not made and
   * will not be made. Closes an open attempt as refused.
   */
  readonly abandonAttempt: (attempt: AbandonedAttempt) => Promise<void>
  /**
   * Returns the answer ids of those attempts of a live task that may have a stored answer, newest first.
   * Returns none when the task has ended.
   */
  readonly answerIdsOf: (taskId: string) => Promise<readonly string[]>
  /**
   * Publishes a stored answer, settles the hold and closes the attempt. Returns false when the task had
   * already ended. Then nothing is published or charged, but the attempt is still closed.
   */
  readonly settleTask: (input: SettleInput) => Promise<boolean>
  /** Ends a task as failed and releases its hold, unless a call of a present worker is under way. */
  readonly failTask: (taskId: string, failure: TaskFailure) => Promise<FailResult>
  /**
   * Ends a task as `cancelled` and releases its hold. Changes nothing when the task had already ended, and when
   * one of its attempts is open or may have done work.
   */
  readonly cancelTask: (taskId: string, reason: CancelReason) => Promise<CancelResult>
}
