import { setTimeout as sleep } from 'node:timers/promises'

const firstDelayMs = 100
const delayMsMax = 5_000

/**
 * Runs `effect` until it succeeds. The pauses between two tries double. Throws the last error when the next try would
 * come after `limitMs`, or when the signal has aborted. Use this function only for an effect that is safe to repeat,
 * and whose loss costs money.
 */
export async function retryFor<Value>(
  limitMs: number,
  effect: () => Promise<Value>,
  signal?: AbortSignal,
): Promise<Value> {
  const endsAtMs = performance.now() + limitMs
  let delayMs = firstDelayMs
  for (;;) {
    try {
      return await effect()
    } catch (error) {
      if (performance.now() + delayMs > endsAtMs || signal?.aborted === true) throw error
    }
    await sleep(delayMs, undefined, { signal }).catch(() => {})
    delayMs = Math.min(delayMs * 2, delayMsMax)
  }
}

/** A moment on the monotonic clock and on the wall clock, both in milliseconds. */
export type Instant = { readonly monotonicMs: number; readonly wallMs: number }

/** Returns this moment. */
export function readClocks(): Instant {
  return { monotonicMs: performance.now(), wallMs: Date.now() }
}

/**
 * Returns the milliseconds since an instant. The monotonic clock stands still while the machine is
 * suspended, and the wall clock can be set back. Both make the measured time too short, so the longer of the two
 * times is used.
 */
export function elapsedMs(since: Instant): number {
  const now = readClocks()
  return Math.max(now.monotonicMs - since.monotonicMs, now.wallMs - since.wallMs)
}
