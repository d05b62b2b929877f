import { z } from 'zod'
import type { CallMatcher } from '../../src/dev/simulator/calls.ts'
import { callsSchema } from '../../src/dev/simulator/calls.ts'
import { defined } from '../../src/domain/defined.ts'

const answerTimeoutMs = 15_000
const waitTimeoutMs = 20_000

/**
 * Controls a simulator in another process over HTTP, at a base URL such as `http://127.0.0.1:8090`. Every function
 * rejects when the simulator does not answer in time, and with its reason when it refuses what was asked.
 */
export function createSimulatorClient(url: string) {
  async function ask(path: string, init: RequestInit, timeoutMs = answerTimeoutMs) {
    const signal = AbortSignal.timeout(timeoutMs)
    const response = await fetch(`${url}/__simulator/${path}`, { signal, ...init })
    const text = await response.text()
    if (!response.ok) throw new Error(`The simulator refused ${path}: ${response.status} ${text}`)
    const json: unknown = JSON.parse(text)
    return json
  }

  async function listCalls(matcher: CallMatcher, count: number, timeoutMs: number) {
    const filters = { count: String(count), timeoutMs: String(timeoutMs) }
    const query = new URLSearchParams({ ...defined(matcher), ...filters })
    const answer = await ask(`calls?${query.toString()}`, {}, timeoutMs + answerTimeoutMs)
    return callsSchema.parse(answer).calls
  }

  return {
    url,
    /** Returns the matching calls, oldest first, with prompts and bodies. */
    calls: (matcher: CallMatcher = {}) => listCalls(matcher, 0, 0),
    /** Resolves when `count` matching calls have begun. Rejects when this takes longer than `timeoutMs`. */
    async waitForCalls(count: number, matcher: CallMatcher = {}, timeoutMs = waitTimeoutMs) {
      const calls = await listCalls(matcher, count, timeoutMs)
      if (calls.length >= count) return calls
      throw new Error(`The simulator saw ${calls.length} of ${count} calls within ${timeoutMs} ms`)
    },
    /** Lets the matching held calls continue, and returns their number. */
    async release(match: CallMatcher = {}) {
      const query = new URLSearchParams(defined(match))
      const answer = await ask(`release?${query.toString()}`, { method: 'POST' })
      return z.object({ released: z.number() }).parse(answer).released
    },
  }
}
