import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Result } from '../../domain/result.ts'
import { succeed } from '../../domain/result.ts'
import type { CallMatcher } from './calls.ts'
import { digestOf, matches } from './calls.ts'
import type { Fault } from './faults.ts'
import { findDirectives } from './faults.ts'
import type { ImageOrder } from './order.ts'

/** How many milliseconds an image takes: a fixed number, or a random number between two bounds. */
export type Latency = number | { readonly minMs: number; readonly maxMs: number }

/**
 * A fixed window of time that begins with the first call. In the window, the first `grants` calls pass, and
 * all others get a 429.
 */
export type RateLimit = {
  /** Only calls of this model count. When absent, the calls of all models count together. */
  readonly model?: string | undefined
  readonly grants: number
  readonly windowMs: number
}

export type Plan = ReturnType<typeof createPlan>

/**
 * Creates the plan that decides what happens to each call: its fault, its rate limits and how long it takes.
 */
export function createPlan(latency: Latency) {
  let scripts: { matcher: CallMatcher; queue: { fault: Fault; left: number }[] }[] = []
  const windows: { limit: RateLimit; endsAtMs: number; used: number }[] = []
  const callsByPrompt = new Map<string, number>()
  const heldCalls = new Set<{ order: ImageOrder; released: AbortController }>()

  async function hold(order: ImageOrder, signal: AbortSignal): Promise<void> {
    const held = { order, released: new AbortController() }
    heldCalls.add(held)
    await once(held.released.signal, 'abort', { signal }).finally(() => heldCalls.delete(held))
  }

  /** Adds faults for the calls that match. Each fault is for one call, unless it has `times`. */
  function script(matcher: CallMatcher, faults: readonly Fault[]): void {
    scripts.push({ matcher, queue: faults.map((fault) => ({ fault, left: fault.times ?? 1 })) })
  }

  /** Adds a rate limit. A call passes only if every limit for its model lets it pass. */
  function limit(limit: RateLimit): void {
    windows.push({ limit, endsAtMs: 0, used: 0 })
  }

  /**
   * Counts a call of the model and returns `undefined` when it passes all limits. Otherwise returns the rest
   * of the window, in whole seconds rounded up; no limit counts such a call.
   */
  function refusedForSeconds(model: string, nowMs: number): number | undefined {
    const covering = windows.filter(({ limit }) => (limit.model ?? model) === model)
    for (const window of covering.filter(({ endsAtMs }) => nowMs >= endsAtMs)) {
      window.endsAtMs = nowMs + window.limit.windowMs
      window.used = 0
    }
    const full = covering.find(({ limit, used }) => used >= limit.grants)
    if (full !== undefined) return Math.ceil((full.endsAtMs - nowMs) / 1000)
    for (const window of covering) window.used += 1
    return undefined
  }

  /**
   * Returns the fault for this call, or `undefined` for a correct answer. A script that matches comes first.
   * Without one, the directives of the prompt are used in order. Calls with the same prompt are counted for
   * this, except those that got a fault from a script. Fails when a directive cannot be read.
   */
  function next(order: ImageOrder): Result<Fault | undefined, string> {
    scripts = scripts.filter(({ queue }) => queue.length > 0)
    const queue = scripts.find(({ matcher }) => matches(matcher, order))?.queue
    const first = queue?.[0]
    if (first !== undefined) {
      first.left -= 1
      if (first.left <= 0) queue?.shift()
      return succeed(first.fault)
    }
    const directives = findDirectives(order.prompt)
    if (!directives.ok) return directives
    if (directives.value.length === 0) return succeed(undefined)
    const key = digestOf(order.prompt)
    let passed = callsByPrompt.get(key) ?? 0
    callsByPrompt.set(key, passed + 1)
    const fault = directives.value.find((candidate) => {
      const { times = Infinity } = candidate
      const isNow = passed < times
      passed -= times
      return isNow
    })
    return succeed(fault)
  }

  /** Resolves when the image may be sent. When the signal aborts first, rejects with an AbortError. */
  async function wait(
    order: ImageOrder,
    fault: Fault | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    if (fault?.kind === 'hold') await hold(order, signal)
    await sleep(durationMs(fault, latency), undefined, { signal })
  }

  /** Lets the matching calls with a `hold` fault continue, and returns their number. */
  function release(matcher: CallMatcher = {}): number {
    const matching = [...heldCalls].filter(({ order }) => matches(matcher, order))
    for (const { released } of matching) released.abort()
    return matching.length
  }

  return { script, limit, refusedForSeconds, next, wait, release }
}

function durationMs(fault: Fault | undefined, latency: Latency): number {
  if (fault?.kind === 'delay') return fault.ms
  if (fault?.kind === 'hold') return 0
  if (typeof latency === 'number') return latency
  return latency.minMs + Math.random() * (latency.maxMs - latency.minMs)
}
