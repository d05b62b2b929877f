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
  /** The number of the open attempt for which the caller has looked for a stored answer and found none. */
  readonly checked?: number
  /**
   * The id under which the answer of a new attempt will be stored. Each question to the gate needs a new id. If the
   * caller loses the gate's reply, `abandonAttempt` finds the attempt by this id. Default: a random id.
   */
  readonly answerId?: string
  /** Default: `workflow`. */
  readonly via?: Via
  /** Default: `first`. */
  readonly question?: Question
  /**
   * The size of the largest request that the caller has memory for, in bytes of the stored text. A larger request is
   * not read (`needs_room`). Default: any request is read.
   */
  readonly requestBytesMax?: number
}

/** How the worker got the task: without Temporal (`offer`), or the activity of the task's workflow runs. */
export type Via = 'offer' | 'workflow'

/**
 * Which question of this worker about the task it is. The gate tries to answer each kind in its cheapest way first.
 * - `first`: the worker has not asked for this task yet.
 * - `in_line`: the answer to the last question was to wait for a place on a full channel.
 * - `further`: any other question. Only the full gate answers it.
 */
export type Question = 'first' | 'in_line' | 'further'

/** Names an attempt that may or may not exist, by the answer id that its worker chose before it asked the gate. */
export type AbandonedAttempt = { readonly taskId: string; readonly answerId: string }

/** An attempt whose call must be made now. */
export type OpenedAttempt = {
  readonly n: number
  readonly channel: Channel
  /** The upload where the answer is stored. */
  readonly answerId: string
  /** The Idempotency-Key for the upstream. */
  readonly upstreamKey: string
  /** Limit for the call: the channel's timeout, or the time until the task's hard end if that is shorter. */
  readonly timeoutMs: number
  /** Time until the task's hard end. During this time a failed write to the blob store is tried again. */
  readonly hardEndMs: number
  readonly accountId: string
  readonly model: ModelId
  /**
   * Returns the request. May be called once only: the request may have many megabytes, so nothing but the call should
   * hold it in memory.
   */
  readonly takeRequest: () => ImageRequest
}

export type BeginResult =
  | { readonly kind: 'opened'; readonly attempt: OpenedAttempt }
  /**
   * An earlier attempt is still open. Look for its stored answer. If there is none, ask the gate again with
   * `checked: n`.
   */
  | { readonly kind: 'unchecked'; readonly n: number; readonly answerId: string }
  /**
   * The task may call, but its request is larger than `requestBytesMax`. No attempt was opened. Get memory for
   * `bytes` and ask the gate again.
   */
  | { readonly kind: 'needs_room'; readonly accountId: string; readonly bytes: number }
  /** No call may be made now. Ask the gate again after `delayMs`. */
  | {
      readonly kind: 'wait'
      readonly delayMs: number
      readonly reason: WaitReason
      readonly channel?: string
    }
  /** The task must end without an image. It is still live, so call `failTask`. */
  | ({ readonly kind: 'end' } & TaskEnd)
  /** The task has ended or was purged, so there is nothing to do. */
  | { readonly kind: 'over' }

/** The failure with which a task must end, and the account of the task. */
export type TaskEnd = { readonly failure: TaskFailure; readonly accountId: string }

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
  /** The vendor's own answer when a family A model rejected the request. A synchronous caller gets it. */
  readonly nativeRejection?: JsonObject
}

/** A stored answer to publish. */
export type SettleInput = {
  readonly meta: AnswerMeta
  readonly answerId: string
  /** The account of the task. Answers with the same account can be settled together. Absent when it is not known. */
  readonly accountId?: string
  /** What the caller saw of the call that brought the answer. Absent when another process made the call. */
  readonly evidence?: OutcomeEvidence
}

/**
 * What `failTask` did or found. Only `failed` changed the task.
 * - `call_under_way`: a call of the task is under way, and its process does not count as lost. Try again later.
 * - `succeeded`: the task has ended with an image.
 * - `over`: the task has ended without an image, or is purged.
 */
export type FailResult = 'failed' | 'call_under_way' | 'succeeded' | 'over'

/**
 * Why a task is cancelled.
 * - `asked`: a client, an operator or Temporal asked for it. This is final: the idempotency key stays with the
 *   cancelled task.
 * - `client_left`: the last client of a synchronous call has disconnected. The idempotency key is freed, so that the
 *   client can send the call again. The inputs of the task are deleted, because nobody needs them any more.
 */
export type CancelReason = 'asked' | 'client_left'

/**
 * What `cancelTask` did or found.
 * - `cancelled`: the task was cancelled now or earlier.
 * - `call_under_way`: an upstream call is under way. The task continues.
 * - `work_possible`: an earlier upstream call may have done work that is paid for. The task continues.
 * - `succeeded`, `failed`: the task had already ended in this way.
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
 * What a worker reads and writes while it carries out a task. Each function is safe to repeat, and changes the task,
 * its attempts and its credits in one transaction. Only the channel may be updated in a second one. A task ends only
 * once: a function that would end it locks it first and ends it only if it is still live. So if several processes try
 * to end a task at once, the first one wins. Implemented in `src/store/attempts/` and `src/store/tasks/`.
 */
export type AttemptStore = {
  /** The gate. Decides whether the task may call upstream now, and opens the attempt if so. */
  readonly beginAttempt: (input: BeginInput) => Promise<BeginResult>
  /**
   * Returns the failure with which a task must end instead of its first call, if the gate would end it now. Writes
   * nothing and takes no lock.
   */
  readonly endOfFirstCall: (taskId: string) => Promise<TaskEnd | undefined>
  /**
   * Closes an attempt and updates its channel. Does nothing when the outcome is already recorded. But if the attempt
   * was closed only because its worker seemed lost, it now gets the outcome that its worker saw.
   */
  readonly closeAttempt: (close: AttemptClose) => Promise<void>
  /**
   * Makes sure that no attempt with this answer id is open, now or later. Call it when the call was not made and will
   * not be made. Closes an open attempt as refused.
   */
  readonly abandonAttempt: (attempt: AbandonedAttempt) => Promise<void>
  /**
   * Returns the answer ids of the attempts of a live task that may have a stored answer, newest attempt first.
   * Returns none when the task has ended.
   */
  readonly answerIdsOf: (taskId: string) => Promise<readonly string[]>
  /**
   * Publishes a stored answer, settles the hold and closes the attempt. Returns false when the task had
   * already ended. Then nothing is published or charged, but the attempt is still closed.
   */
  readonly settleTask: (input: SettleInput) => Promise<boolean>
  /**
   * Ends a task as failed and releases its hold, unless a call of a present worker is under way. Tasks with the same
   * account can be ended together. `accountId` is absent when the account is not known.
   */
  readonly failTask: (
    taskId: string,
    failure: TaskFailure,
    accountId?: string,
  ) => Promise<FailResult>
  /**
   * Ends a task as failed with the code `cancelled`, and releases its hold. Changes nothing when the task has already
   * ended, or when one of its attempts is open or may have done work.
   */
  readonly cancelTask: (taskId: string, reason: CancelReason) => Promise<CancelResult>
}
