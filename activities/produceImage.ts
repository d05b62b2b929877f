import { Context } from '@temporalio/activity'
import { setTimeout as sleep } from 'node:timers/promises'
import { assertNever } from '../src/domain/assertNever.ts'
import type { ProduceResult, Stage } from '../src/tasks/produceImage.ts'
import { heartbeatIntervalMs } from '../workflows/contract.ts'
import type { ReportUnexpected } from './applicationFailure.ts'
import { endFailure, reportingUnexpected, waitFailure } from './applicationFailure.ts'

export type ProduceImageDeps = {
  /** `src/tasks/produceImage.ts`. Safe to repeat after any crash, and to run twice at the same time. */
  readonly produceImage: (input: {
    readonly taskId: string
    readonly signal?: AbortSignal
    readonly onStage?: (stage: Stage) => void
  }) => Promise<ProduceResult>
  readonly onUnexpected: ReportUnexpected
  /**
   * Aborts when the process is asked to stop. Calls under way finish. A new call could last longer than
   * the grace time and be lost although it is paid for, so another worker makes it.
   */
  readonly stopping?: AbortSignal
}

/** A good end. Any other end is thrown as an `ApplicationFailure`. */
type Produced = { readonly outcome: 'succeeded' | 'over' }

/**
 * Brings a task as far as possible now. Heartbeats tell Temporal that this worker is alive; their details
 * are the stage that the lookup shows. A longer wait is thrown as a failure with its delay: Temporal keeps
 * the timer, so the wait occupies no slot and adds nothing to the history.
 */
export function createProduceImageActivity(deps: ProduceImageDeps) {
  return async ({ taskId }: { readonly taskId: string }): Promise<Produced> => {
    const context = Context.current()
    const signal = AbortSignal.any([stopSignal(context), ...(deps.stopping ? [deps.stopping] : [])])
    let stage: Stage | undefined
    const onStage = (next: Stage) => {
      stage = next
    }
    const produce = () => deps.produceImage({ taskId, signal, onStage })
    const result = await withHeartbeats(
      context,
      () => stage,
      () =>
        reportingUnexpected(deps.onUnexpected, { activity: 'produceImage', taskId }, () =>
          repeatAfterShortWaits(produce, signal),
        ),
    )
    switch (result.kind) {
      case 'succeeded':
      case 'over':
        return { outcome: result.kind }
      case 'wait':
        throw waitFailure(result, Date.now())
      case 'end':
        throw endFailure(result.failure, stage?.channel)
      default:
        return assertNever(result)
    }
  }
}

/**
 * Runs the work and sends `details()` as a heartbeat at each interval until the work ends. Work shorter
 * than one interval sends no heartbeat, because each one costs the server a write.
 */
async function withHeartbeats<Value>(
  context: Pick<Context, 'heartbeat'>,
  details: () => unknown,
  work: () => Promise<Value>,
): Promise<Value> {
  const timer = setInterval(() => context.heartbeat(details()), heartbeatIntervalMs)
  try {
    return await work()
  } finally {
    clearInterval(timer)
  }
}

/**
 * Aborts when no new call should start: the workflow is closed, or the activity is cancelled, paused,
 * reset or timed out. A worker shutdown does not abort it: calls under way are paid for and finish within
 * the grace time.
 */
function stopSignal(
  context: Pick<Context, 'cancellationSignal' | 'cancellationDetails'>,
): AbortSignal {
  const stop = new AbortController()
  const { cancellationSignal } = context
  const onCancellation = () => {
    if (context.cancellationDetails?.workerShutdown !== true) stop.abort()
  }
  if (cancellationSignal.aborted) onCancellation()
  else cancellationSignal.addEventListener('abort', onCancellation, { once: true })
  return stop.signal
}

/**
 * Temporal's timers fire up to a second late, so a shorter wait is spent in the activity; that also saves
 * a write. The wait occupies a slot, so one wait and all waits together are limited. Waits for a place on
 * a full channel have no common limit. There are at least as many slots as places, so such a wait keeps no
 * call from starting, and a task that stops asking would lose its position in the line.
 */
const shortWaitMsMax = 1_000
const shortWaitsTotalMsMax = 3_000

/** Repeats the work after each short wait. Returns a longer wait, and any wait after the signal aborted. */
export async function repeatAfterShortWaits(
  work: () => Promise<ProduceResult>,
  signal: AbortSignal,
): Promise<ProduceResult> {
  let leftMs = shortWaitsTotalMsMax
  for (;;) {
    const result = await work()
    if (result.kind !== 'wait') return result
    const inLine = result.reason === 'channel_full'
    if (result.delayMs > (inLine ? shortWaitMsMax : Math.min(shortWaitMsMax, leftMs))) return result
    if (!inLine) leftMs -= result.delayMs
    await sleep(result.delayMs, undefined, { signal }).catch(() => {})
    if (signal.aborted) return result
  }
}
