import { setTimeout as sleep } from 'node:timers/promises'
import type { CallMatcher, SimulatorCall } from '../../src/dev/simulator/callLog.ts'
import type { Simulator } from '../../src/dev/simulator/startSimulator.ts'

/** A simulator in another process, controlled over HTTP. */
export type SimulatorClient = {
  readonly url: string
  /** The matching calls with their prompts and bodies, oldest first. */
  readonly calls: (matcher?: CallMatcher) => Promise<readonly SimulatorCall[]>
  /** Resolves when `count` matching calls have begun. Rejects when this takes longer than `timeoutMs`. */
  readonly waitForCalls: (
    count: number,
    matcher?: CallMatcher,
    timeoutMs?: number,
  ) => Promise<readonly SimulatorCall[]>
  readonly script: (matcher: CallMatcher, faults: readonly string[]) => Promise<void>
  readonly limit: (limit: Parameters<Simulator['limit']>[0]) => Promise<void>
  /** Lets the held calls go on: those that match, or all. Returns how many. */
  readonly release: (matcher?: CallMatcher) => Promise<number>
  readonly strayRequests: () => Promise<number>
  readonly reset: () => Promise<void>
}

const waitTimeoutMs = 20_000
const pollMs = 20
const answerTimeoutMs = 10_000

/** Creates a client of the simulator at `url`, which has no slash at its end. */
export function createSimulatorClient(url: string): SimulatorClient {
  async function ask<Answer>(path: string, body?: object): Promise<Answer> {
    const response = await fetch(`${url}/__simulator/${path}`, {
      signal: AbortSignal.timeout(answerTimeoutMs),
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`the simulator answers ${response.status} ${text}`)
    const answer: Answer = JSON.parse(text)
    return answer
  }

  async function calls(matcher: CallMatcher = {}): Promise<readonly SimulatorCall[]> {
    const query = new URLSearchParams({ ...matcher, full: 'true' })
    return (await ask<{ calls: SimulatorCall[] }>(`calls?${query.toString()}`)).calls
  }

  return {
    url,
    calls,
    waitForCalls: async (count, matcher = {}, timeoutMs = waitTimeoutMs) => {
      const endsAtMs = performance.now() + timeoutMs
      for (;;) {
        const begun = await calls(matcher)
        if (begun.length >= count) return begun
        if (performance.now() > endsAtMs) {
          throw new Error(`${begun.length} of ${count} calls began within ${timeoutMs} ms`)
        }
        await sleep(pollMs)
      }
    },
    script: async (match, faults) => void (await ask('script', { match, faults })),
    limit: async (limit) => void (await ask('limit', limit)),
    release: async (match = {}) => (await ask<{ released: number }>('release', { match })).released,
    strayRequests: async () => (await ask<{ strayRequests: number }>('stray')).strayRequests,
    reset: async () => void (await ask('reset', {})),
  }
}
