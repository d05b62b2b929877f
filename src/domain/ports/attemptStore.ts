import type { Channel } from '../channel.ts'
import type { TaskFailure } from '../failure.ts'
import type { WaitReason } from '../gate/taskFacts.ts'
import type { ImageRequest } from '../imageRequest.ts'
import type { JsonObject } from '../json.ts'
import type { AnswerMeta } from '../storedAnswer.ts'
import type { OutcomeClass, OutcomeEvidence } from '../upstreamCall.ts'

export type OpenedAttempt = {
  readonly n: number
  readonly channel: Channel
  readonly answerId: string
  readonly upstreamKey: string
  /** Time left for the call: the channel's timeout, or what remains until the hard end. */
  readonly timeoutMs: number
  /** Milliseconds until the task's hard end: storing is retried that long. */
  readonly hardEndMs: number
  readonly request: ImageRequest
}

export type BeginResult =
  | { readonly kind: 'opened'; readonly attempt: OpenedAttempt }
  /** An attempt is open from an earlier life: look for its answer, then begin again naming it. */
  | { readonly kind: 'unchecked'; readonly n: number; readonly answerId: string }
  | {
      readonly kind: 'wait'
      readonly delayMs: number
      readonly reason: WaitReason
      readonly channel?: string
    }
  | { readonly kind: 'end'; readonly failure: TaskFailure }
  /** Terminal or gone: nothing to do, whoever asks. */
  | { readonly kind: 'over' }

export type AttemptName = { readonly taskId: string; readonly n: number }

/** How one attempt closed; `succeeded` is closed by `settleTask` in its own transaction. */
export type AttemptClose = {
  readonly taskId: string
  readonly n: number
  readonly class: Exclude<OutcomeClass, 'succeeded'>
  readonly evidence: OutcomeEvidence
  readonly retryAfterMs?: number
  readonly nativeRefusal?: JsonObject
}

/** The transactions of execution, over PostgreSQL; each safe to repeat. Implemented in `src/store/`. */
export type AttemptStore = {
  /** The gate of design 1.6. `checked`: the open attempt whose answer was looked for in vain. */
  readonly beginAttempt: (input: {
    readonly taskId: string
    readonly checked?: number
  }) => Promise<BeginResult>
  /** Says that the calls of these attempts are under way, so that nobody makes them again. */
  readonly touchAttempts: (attempts: readonly AttemptName[]) => Promise<void>
  /** Closes the attempt if it is still open, and tells channel and cooldown what happened. */
  readonly closeAttempt: (close: AttemptClose) => Promise<void>
  /** Answer ids of a live task's attempts that may have stored one, newest first. */
  readonly answersOf: (taskId: string) => Promise<readonly string[]>
  /**
   * Publishes a stored answer and charges for it, once: compare-and-set on a non-terminal task. False:
   * the task had ended otherwise, nothing was published or charged.
   */
  readonly settleTask: (input: {
    readonly meta: AnswerMeta
    readonly answerId: string
    readonly evidence?: OutcomeEvidence
  }) => Promise<boolean>
  /** Ends a task without an image and releases its hold: compare-and-set, false when already ended. */
  readonly failTask: (taskId: string, failure: TaskFailure) => Promise<boolean>
  /** Design 1.11: `cancelled` and released, unless an attempt is open or may have done work. */
  readonly cancelTask: (taskId: string) => Promise<boolean>
}
