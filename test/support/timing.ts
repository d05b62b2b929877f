import { setTimeout as sleep } from 'node:timers/promises'

/** Asks again and again until the answer is given; after `limitMs` the test fails with what was missed. */
export async function until<Value>(
  what: string,
  ask: () => Promise<Value | undefined> | Value | undefined,
  limitMs = 15_000,
): Promise<Value> {
  const endsAtMs = performance.now() + limitMs
  for (;;) {
    const answer = await ask()
    if (answer !== undefined) return answer
    if (performance.now() > endsAtMs) throw new Error(`never seen: ${what}`)
    await sleep(25)
  }
}

/** As SIGSTOP does, for this thread: nothing of it goes on. */
export function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

/** Does the work `times` times, at most `parallel` at once; `n` counts from 0. */
export async function inTurns(
  times: number,
  parallel: number,
  work: (n: number) => Promise<unknown>,
): Promise<void> {
  let next = 0
  const lane = async () => {
    while (next < times) {
      next += 1
      await work(next - 1)
    }
  }
  await Promise.all(Array.from({ length: Math.min(parallel, times) }, lane))
}

/** Milliseconds that the work took. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}
