import { Context } from '@temporalio/activity'
import { endFailure, reportingUnexpected, waitFailure } from './applicationFailure.ts'
import { assertNever } from '../src/domain/assertNever.ts'
import { defined } from '../src/domain/defined.ts'
import type { ProduceImage } from '../src/tasks/produce/produceImage.ts'
import type { Stage } from '../src/tasks/produce/produceInput.ts'
import type { Logger } from '../src/telemetry/logger.ts'
import type { ImageTaskResult, ProduceArgument } from '../workflows/contract.ts'
import { heartbeatIntervalMs } from '../workflows/contract.ts'

export type ProduceImageActivityDeps = {
  /**
   * Brings one task as far as possible now: see `src/tasks/produce/produceImage.ts`. Safe to repeat after any crash,
   * and to run twice at the same time.
   */
  readonly produceImage: ProduceImage
  readonly log: Pick<Logger, 'error'>
  /**
   * Aborts when the process is asked to stop. Calls that are under way finish. No new call starts, because it
   * could last longer than the grace time and be lost although it is paid for. Another worker makes the call
   * instead.
   */
  readonly stopping: AbortSignal
}

/**
 * Creates the activity that brings a task as far as possible now. Its heartbeats tell Temporal that this
 * worker is alive, and their details contain the stage, by which a lookup computes its Retry-After.
 *
 * A wait that is not short is thrown as a failure with a delay. Temporal then keeps the timer, so the wait occupies no
 * slot of the worker and adds nothing to the history. An end without an image is thrown too, again when the activity runs
 * again.
 */
export function createProduceImageActivity(deps: ProduceImageActivityDeps) {
  return async ({
    taskId,
    giveUp = false,
    ...served
  }: ProduceArgument): Promise<ImageTaskResult> => {
    const context = Context.current()
    // Aborts when Temporal wants no new call of this activity, or the process stops. A call under way finishes: it is
    // paid for.
    const signal = AbortSignal.any([context.cancellationSignal, deps.stopping])
    let stage: Stage | undefined
    const onStage = (next: Stage) => {
      stage = next
    }
    // A call that is shorter than one interval sends no heartbeat. This saves Temporal a write.
    const heartbeats = setInterval(() => context.heartbeat(stage), heartbeatIntervalMs)
    const firstOf = context.info.attempt === 1 && !giveUp ? served : undefined
    const about = { step: 'produceImage', taskId } as const
    const result = await reportingUnexpected(deps.log, about, () =>
      deps.produceImage({ taskId, giveUp, signal, onStage, ...defined({ firstOf }) }),
    ).finally(() => clearInterval(heartbeats))
    switch (result.kind) {
      case 'succeeded':
        return { outcome: 'succeeded' }
      case 'over': {
        const { end } = result
        if (end === undefined) return { outcome: 'over' }
        if (end === 'succeeded') return { outcome: end }
        if (end.code === 'cancelled') return { outcome: 'over' }
        throw endFailure(end)
      }
      case 'failed':
        throw endFailure(result.failure, result.channel)
      case 'wait':
        throw waitFailure(result)
      default:
        return assertNever(result)
    }
  }
}
