import { Context } from '@temporalio/activity'
import { assertNever } from '../src/domain/assertNever.ts'
import type { ProduceResult, Stage } from '../src/tasks/produceResult.ts'
import { endFailure, unexpectedFailure, waitFailure } from './applicationFailure.ts'
import { beatWhile } from './heartbeats.ts'
import type { ReportUnexpected } from './reportUnexpected.ts'
import { throughShortWaits } from './shortWaits.ts'
import { stopSignal } from './stopSignal.ts'
import { createTellWorkflow } from './tellWorkflow.ts'
import { waitMessage } from './waitMessage.ts'

/** Telling costs the server a signal and a workflow task, so a wait must be long enough to be looked at. */
const toldWaitMsMin = 10_000

export type ProduceImageDeps = {
  /** `src/tasks/produceImage.ts`: safe to repeat, twice at once, and after any crash. */
  readonly produceImage: (input: {
    readonly taskId: string
    readonly signal?: AbortSignal
    readonly onStage?: (stage: Stage) => void
  }) => Promise<ProduceResult>
  readonly onUnexpected: ReportUnexpected
  /**
   * Aborts when the process is told to stop. Calls under way finish; one begun now could outlast the grace
   * time, paid for and lost, so another worker makes it.
   */
  readonly stopping?: AbortSignal
}

/** What the workflow learns of a good end; a bad one arrives as an `ApplicationFailure`. */
export type Produced = { readonly outcome: 'succeeded' | 'over' }

/**
 * Brings a task as far as it goes now. Heartbeats tell the server that this worker lives, and the lookup
 * which stage the attempt is in. A wait is thrown as a failure with its delay: the server keeps the timer,
 * so no slot is held and no history is written.
 */
export function createProduceImageActivity(deps: ProduceImageDeps) {
  const tellWorkflow = createTellWorkflow()
  return async ({ taskId }: { readonly taskId: string }): Promise<Produced> => {
    const context = Context.current()
    const signal = AbortSignal.any([stopSignal(context), ...(deps.stopping ? [deps.stopping] : [])])
    let at: Stage | undefined
    const onStage = (stage: Stage) => {
      at = stage
    }
    const work = () => deps.produceImage({ taskId, signal, onStage })
    const result = await beatWhile(
      context,
      () => at,
      () => throughShortWaits(work, signal),
    ).catch((error: unknown) => {
      deps.onUnexpected({ activity: 'produceImage', taskId, error })
      throw unexpectedFailure(error)
    })
    switch (result.kind) {
      case 'succeeded':
      case 'over':
        return { outcome: result.kind }
      case 'wait': {
        const message = waitMessage(result, Date.now())
        if (result.delayMs >= toldWaitMsMin) await tellWorkflow(context, thenCall(message, at))
        throw waitFailure(result, message)
      }
      case 'end':
        throw endFailure(result.failure, at?.channel)
      default:
        return assertNever(result)
    }
  }
}

/** Which call comes next, when this run of the activity knows. */
function thenCall(message: string, last: Stage | undefined): string {
  return last === undefined ? message : `${message}; then call ${last.attempt + 1}`
}
