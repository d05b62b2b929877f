import type { TaskFailure } from '../failure.ts'
import type { WaitReason } from '../gate/taskFacts.ts'
import type { JsonObject } from '../json.ts'
import type { ImageRequest } from '../tasks/imageRequest.ts'
import type { Channel } from '../upstream/channel.ts'
import type { AnswerMeta } from '../upstream/storedAnswer.ts'
import type { OutcomeClass, OutcomeEvidence } from '../upstream/upstreamCall.ts'

/** One attempt of a task. Attempts are counted from 1. */
export type AttemptName = { readonly taskId: string; readonly n: number }

export type BeginInput = {
  readonly taskId: string
  /** The open attempt whose stored answer the caller has looked for and not found. */
  readonly checked?: number
  /**
   * The id under which the answer of a new attempt is stored, used for this question alone. When the
   * question gets no answer, `abandonAttempt` finds the attempt by it. Default: a random id.
   */
  readonly answerId?: string
}

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
  /** The longest the call may take: the channel's timeout, or less near the task's hard end. */
  readonly timeoutMs: number
  /** Time until the task's hard end. Until then a failing blob store is retried. */
  readonly hardEndMs: number
  readonly request: ImageRequest
}

export type BeginResult =
  | { readonly kind: 'opened'; readonly attempt: OpenedAttempt }
  /** An earlier attempt is open. Look for its stored answer, then begin again with `checked: n`. */
  | { readonly kind: 'unchecked'; readonly n: number; readonly answerId: string }
  /** No call may be made for `delayMs`. Begin again then. */
  | {
      readonly kind: 'wait'
      readonly delayMs: number
      readonly reason: WaitReason
      readonly channel?: string
    }
  /** The task cannot go on. It has not been ended yet: call `failTask`. */
  | { readonly kind: 'end'; readonly failure: TaskFailure }
  /** The task has ended or is purged: there is nothing to do. */
  | { readonly kind: 'over' }

/** The outcome of a call that brought no image. With an image, `settleTask` closes the attempt. */
export type AttemptClose = AttemptName & {
  readonly class: Exclude<OutcomeClass, 'succeeded'>
  readonly evidence: OutcomeEvidence
  readonly retryAfterMs?: number
  /** Family A: the model's answer, for a synchronous caller. */
  readonly nativeRefusal?: JsonObject
}

/** A stored answer to publish. */
export type SettleInput = {
  readonly meta: AnswerMeta
  readonly answerId: string
  /** Of the call that brought the answer. Absent when another process made the call. */
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
 * The transactions of a task's execution. Each is atomic and safe to repeat. A transaction that ends a
 * task locks it first and ends it only while it is live, so that of several concurrent ends the first
 * wins. Implemented in `src/store/attempts/` and `src/store/tasks/`.
 */
export type AttemptStore = {
  /** The gate: decides whether the task may call upstream now, and opens the attempt. */
  readonly beginAttempt: (input: BeginInput) => Promise<BeginResult>
  /** Records the worker's presence for these attempts. Closed and unknown ones are ignored. */
  readonly touchAttempts: (attempts: readonly AttemptName[]) => Promise<void>
  /**
   * Closes an attempt and updates its channel. Does nothing when the outcome is known already; an attempt
   * that counted as lost gets the outcome that its worker saw.
   */
  readonly closeAttempt: (close: AttemptClose) => Promise<void>
  /**
   * Makes sure that no attempt with this answer id is open, now or later: its call was not made and will
   * not be. An open attempt is closed as refused.
   */
  readonly abandonAttempt: (attempt: AbandonedAttempt) => Promise<void>
  /**
   * The answer ids of a live task's attempts that may have a stored answer, newest first. Empty for a
   * task that has ended.
   */
  readonly answerIdsOf: (taskId: string) => Promise<readonly string[]>
  /**
   * Publishes a stored answer, settles the hold and closes the attempt. False: the task had ended, so
   * nothing was published or charged; the attempt is closed all the same.
   */
  readonly settleTask: (input: SettleInput) => Promise<boolean>
  /** Ends a task as failed and releases its hold, unless a call of a present worker is under way. */
  readonly failTask: (taskId: string, failure: TaskFailure) => Promise<FailResult>
  /**
   * Ends a task as `cancelled` and releases its hold. False: the task had ended, or one of its attempts
   * is open or may have done work; nothing changed.
   */
  readonly cancelTask: (taskId: string) => Promise<boolean>
}
