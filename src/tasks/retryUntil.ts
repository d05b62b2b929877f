import { setTimeout as sleep } from 'node:timers/promises'

const firstDelayMs = 100
const delayMsMax = 5_000

/**
 * Repeats `effect` while it throws, with doubling pauses, for at most `limitMs`; then throws its last
 * error. For effects that are safe to repeat and dear to lose.
 */
export async function retryUntil<Value>(
  effect: () => Promise<Value>,
  options: { readonly limitMs: number },
): Promise<Value> {
  const endsAt = performance.now() + options.limitMs
  let delayMs = firstDelayMs
  for (;;) {
    try {
      return await effect()
    } catch (error) {
      if (performance.now() + delayMs > endsAt) throw error
    }
    await sleep(delayMs)
    delayMs = Math.min(delayMs * 2, delayMsMax)
  }
}
