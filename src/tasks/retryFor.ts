import { setTimeout as sleep } from 'node:timers/promises'

const firstDelayMs = 100
const delayMsMax = 5_000

/**
 * Repeats an effect while it throws, with doubling pauses. After `limitMs` it throws the last error. For
 * effects that are safe to repeat and whose loss costs money.
 */
export async function retryFor<Value>(
  limitMs: number,
  effect: () => Promise<Value>,
): Promise<Value> {
  const endsAtMs = performance.now() + limitMs
  let delayMs = firstDelayMs
  for (;;) {
    try {
      return await effect()
    } catch (error) {
      if (performance.now() + delayMs > endsAtMs) throw error
    }
    await sleep(delayMs)
    delayMs = Math.min(delayMs * 2, delayMsMax)
  }
}
