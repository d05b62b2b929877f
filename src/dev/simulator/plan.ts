import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Result } from '../../domain/result.ts'
import { succeed } from '../../domain/result.ts'
import type { CallMatcher } from './calls.ts'
import { digestOf, matches } from './calls.ts'
import type { Fault } from './faults.ts'
import { findDirectives } from './directives.ts'
import type { ImageOrder } from './order.ts'

/** How many milliseconds an image takes: a fixed number, or a random number between two bounds. */
export type Latency = number | { readonly minMs: number; readonly maxMs: number }

export type Plan = ReturnType<typeof createPlan>

/** Creates the plan that decides what happens to each call: its fault and how long it takes. */
export function createPlan(latency: Latency) {
  const callsByPrompt = new Map<string, number>()
  const windows = new Map<string, { readonly endsAtMs: number; used: number }>()
  const heldCalls = new Set<{ order: ImageOrder; released: AbortController }>()

  /**
   * Returns the fault for this call, or `undefined` for a correct answer: the directives of the prompt are used in order.
   * Calls with the same prompt are counted for this. Fails when a directive cannot be read.
   */
  function next(
    { prompt, model }: Pick<ImageOrder, 'prompt' | 'model'>,
    nowMs = Date.now(),
  ): Result<Fault | undefined, string> {
    const directives = findDirectives(prompt)
    if (!directives.ok) return directives
    if (directives.value.length === 0) return succeed(undefined)
    const key = digestOf(prompt)
    let passed = callsByPrompt.get(key) ?? 0
    callsByPrompt.set(key, passed + 1)
    const faults = directives.value.filter((fault) => (fault.model ?? model) === model)
    const fault = faults.find(({ times = Infinity }) => {
      const isNow = passed < times
      passed -= times
      return isNow
    })
    return succeed(fault?.kind === 'limit' ? withinLimit(fault, model, nowMs) : fault)
  }

  /**
   * A window of time begins with the first call of the model for which such a limit is asked. In it the first `grants`
   * calls pass, and all others get a 429 with the rest of the window in whole seconds, rounded up.
   */
  function withinLimit(
    { grants, window }: Extract<Fault, { readonly kind: 'limit' }>,
    model: string,
    nowMs: number,
  ): Fault | undefined {
    const key = `${model} ${grants} ${window}`
    const running = windows.get(key)
    const current =
      running === undefined || nowMs >= running.endsAtMs
        ? { endsAtMs: nowMs + window, used: 0 }
        : running
    windows.set(key, current)
    current.used += 1
    if (current.used <= grants) return undefined
    const retryAfter = Math.ceil((current.endsAtMs - nowMs) / 1000)
    return { kind: '429', retryAfter, form: 'seconds', details: true }
  }

  /** Resolves when the image may be sent. When the signal aborts first, rejects with an AbortError. */
  async function wait(
    order: ImageOrder,
    fault: Fault | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    if (fault?.kind !== 'hold') return sleep(durationMs(fault, latency), undefined, { signal })
    const held = { order, released: new AbortController() }
    heldCalls.add(held)
    await once(held.released.signal, 'abort', { signal }).finally(() => heldCalls.delete(held))
  }

  /** Lets the matching calls with a `hold` fault continue, and returns their number. */
  function release(matcher: CallMatcher): number {
    const matching = [...heldCalls].filter(({ order }) => matches(matcher, order))
    for (const { released } of matching) released.abort()
    return matching.length
  }

  return { next, wait, release }
}

function durationMs(fault: Fault | undefined, latency: Latency): number {
  if (fault?.kind === 'delay') return fault.ms
  if (typeof latency === 'number') return latency
  return latency.minMs + Math.random() * (latency.maxMs - latency.minMs)
}
