import { Context } from '@temporalio/activity'
import { setTimeout as sleep } from 'node:timers/promises'
import { assertNever } from '../src/domain/assertNever.ts'
import type { ProduceResult, Stage } from '../src/tasks/produceImage.ts'
import { heartbeatIntervalMs } from '../workflows/contract.ts'
import { endFailure, unexpectedFailure, waitFailure, waitMessage } from './applicationFailure.ts'
import type { ReportUnexpected } from './createActivities.ts'
import { createTellWorkflow } from './tellWorkflow.ts'

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
type Produced = { readonly outcome: 'succeeded' | 'over' }

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

/**
 * Runs the work and sends `details()` as a heartbeat at each interval until it ends. Work shorter than
 * one interval sends none: a beat costs the server a write.
 */
async function beatWhile<Value>(
  context: Pick<Context, 'heartbeat'>,
  details: () => unknown,
  work: () => Promise<Value>,
): Promise<Value> {
  const beat = setInterval(() => context.heartbeat(details()), heartbeatIntervalMs)
  try {
    return await work()
  } finally {
    clearInterval(beat)
  }
}

/**
 * Aborts when nobody wants a new call begun: the workflow is closed, the activity cancelled, paused,
 * reset or timed out. A worker that shuts down is no such reason: its calls are paid for and finish
 * within the grace time (design section 5).
 */
function stopSignal(
  context: Pick<Context, 'cancellationSignal' | 'cancellationDetails'>,
): AbortSignal {
  const stop = new AbortController()
  const { cancellationSignal } = context
  const consider = () => {
    if (context.cancellationDetails?.workerShutdown !== true) stop.abort()
  }
  if (cancellationSignal.aborted) consider()
  else cancellationSignal.addEventListener('abort', consider, { once: true })
  return stop.signal
}

/**
 * The server's timers fire up to a second late, so a shorter wait is spent here; it costs no write
 * either. A slot is held meanwhile, which is why neither one wait nor all together may be long. In line
 * for a place upstream a task may stand as long as it takes: while all places are taken, so many slots
 * of all workers together have nothing else to do, and who leaves the line loses the turn.
 */
const waitMsMax = 1_000
const waitsMsMax = 3_000

/** Runs the work again after each short wait; a longer one, or one after the signal, is handed back. */
export async function throughShortWaits(
  work: () => Promise<ProduceResult>,
  signal: AbortSignal,
): Promise<ProduceResult> {
  let leftMs = waitsMsMax
  for (;;) {
    const result = await work()
    if (result.kind !== 'wait') return result
    const inLine = result.reason === 'channel_full'
    if (result.delayMs > (inLine ? waitMsMax : Math.min(waitMsMax, leftMs))) return result
    if (!inLine) leftMs -= result.delayMs
    await sleep(result.delayMs, undefined, { signal }).catch(() => {})
    if (signal.aborted) return result
  }
}
