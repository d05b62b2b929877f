import { setTimeout as sleep } from 'node:timers/promises'
import type { WaitReason } from '../domain/gate/taskFacts.ts'
import type { ProduceResult } from './produceImage.ts'

/**
 * Limits for waits inside a worker: for one wait, and for all waits together. Temporal's timers fire up to a
 * second late and cost a write, so a short wait is better spent inside the worker. The limits are short,
 * because such a wait occupies a slot of the worker.
 *
 * Waits for a place on a full channel count only towards the first limit. A worker has at least as many slots
 * as its channels have places, so these waits keep no call from starting. If the task stopped asking, it
 * would lose its position in the line.
 */
const shortWaitMsMax = 1_000
const shortWaitsTotalMsMax = 3_000

const neverShort: ReadonlySet<WaitReason> = new Set(['backoff', 'stopping', 'not_present'])

/**
 * Runs the work again after each short wait. Returns the result when it is a longer wait or no wait at all,
 * and also when the signal has aborted. A pause after an unknown outcome is never short: from then on the task
 * goes on in its workflow, where an operator can see and stop it. A worker that makes no calls does not wait
 * either, because another worker can take the task.
 */
export async function repeatAfterShortWaits(
  work: () => Promise<ProduceResult>,
  signal: AbortSignal,
): Promise<ProduceResult> {
  let leftMs = shortWaitsTotalMsMax
  for (;;) {
    const result = await work()
    if (result.kind !== 'wait' || neverShort.has(result.reason)) return result
    const inLine = result.reason === 'channel_full'
    if (result.delayMs > (inLine ? shortWaitMsMax : Math.min(shortWaitMsMax, leftMs))) return result
    if (!inLine) leftMs -= result.delayMs
    await sleep(result.delayMs, undefined, { signal }).catch(() => {})
    if (signal.aborted) return result
  }
}
