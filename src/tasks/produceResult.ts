import type { WaitReason } from '../domain/nextStep.ts'
import type { TaskFailure } from '../domain/taskFailure.ts'

/** How far one go at a task came; `produceImage` never throws for an expected end (design 1.5). */
export type ProduceResult =
  | { readonly kind: 'succeeded' }
  /** Ended by somebody else, or gone: nothing is left to do. */
  | { readonly kind: 'over' }
  /** Come again after `delayMs`, jitter included: the gate has counted on it (design 1.8). */
  | {
      readonly kind: 'wait'
      readonly delayMs: number
      readonly reason: WaitReason
      readonly channel?: string
      /** Who refused the call made just before. Without a status: nobody was reached. */
      readonly refusedBy?: { readonly channel: string; readonly httpStatus?: number }
    }
  /** The end without an image, decided but not yet recorded. */
  | { readonly kind: 'end'; readonly failure: TaskFailure }

/** Where an attempt is, told as it moves: heartbeat details, and from there the status of the lookup. */
export type Stage = {
  readonly stage: 'calling' | 'storing'
  readonly attempt: number
  readonly channel: string
}
