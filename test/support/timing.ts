import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Calls `ask` until it returns a value, first every 25 ms, later less often: a value is seen late by at most a tenth
 * of the wait, and long waits take little CPU. Throws with `what` after `limitMs`.
 */
export async function until<Value>(
  what: string,
  ask: () => Promise<Value | undefined> | Value | undefined,
  limitMs = 15_000,
): Promise<Value> {
  const startedAtMs = performance.now()
  for (;;) {
    const answer = await ask()
    if (answer !== undefined) return answer
    const waitedMs = performance.now() - startedAtMs
    if (waitedMs > limitMs) throw new Error(`never seen: ${what}`)
    await sleep(Math.min(250, Math.max(25, waitedMs / 10)))
  }
}

/** Runs `work` `times` times, at most `parallel` at once. `n` counts from 0. */
export async function runParallel(
  times: number,
  parallel: number,
  work: (n: number) => Promise<unknown>,
): Promise<void> {
  let next = 0
  const runNext = async () => {
    while (next < times) {
      next += 1
      await work(next - 1)
    }
  }
  await Promise.all(Array.from({ length: Math.min(parallel, times) }, runNext))
}

/** Returns the milliseconds that the work took. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}
