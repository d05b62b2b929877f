import { setTimeout as sleep } from 'node:timers/promises'
import type { ProduceResult } from '../src/tasks/produceResult.ts'

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
