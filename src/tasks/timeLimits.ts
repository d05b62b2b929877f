import { setTimeout as sleep } from 'node:timers/promises'
import { createStallTolerantDeadline } from '../domain/stallTolerantDeadline.ts'

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

/**
 * The result of the work, or an error after `limitMs`. The work itself is not stopped; its result is then
 * ignored. After a stall of this process the work gets the full limit again, because its result may
 * already be there; together at most three limits.
 */
export async function withTimeout<Value>(
  limitMs: number,
  work: () => Promise<Value>,
): Promise<Value> {
  const bounds = { limitMs, afterStallMs: limitMs, extensionsMsMax: 2 * limitMs }
  const deadline = createStallTolerantDeadline(bounds)
  const late = Promise.withResolvers<never>()
  let timer: NodeJS.Timeout | undefined
  const tick = () => {
    const delayMs = deadline.nextDelayMs(performance.now())
    if (delayMs === undefined) late.reject(new Error(`no answer in ${limitMs} ms`))
    else timer = setTimeout(tick, delayMs)
  }
  tick()
  try {
    return await Promise.race([work(), late.promise])
  } finally {
    clearTimeout(timer)
  }
}
