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
