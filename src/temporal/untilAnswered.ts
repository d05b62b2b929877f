import { setTimeout as sleep } from 'node:timers/promises'

const limitMs = 30_000
const pauseMs = 500

/**
 * Repeats a question until it is answered: the server's frontends learn of a new namespace or search
 * attribute some seconds after it was made. After 30 s, the last error.
 */
export async function untilAnswered(ask: () => Promise<unknown>): Promise<void> {
  const endsAtMs = performance.now() + limitMs
  for (;;) {
    try {
      await ask()
      return
    } catch (error) {
      if (performance.now() > endsAtMs) throw error
    }
    await sleep(pauseMs)
  }
}
