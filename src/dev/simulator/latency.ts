import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { CallMatcher } from './callLog.ts'
import { matches } from './callLog.ts'
import type { Fault } from './faults.ts'
import type { ImageOrder } from './imageOrder.ts'

/** Milliseconds that an image takes: fixed, or random between two bounds. */
export type Latency = number | { readonly minMs: number; readonly maxMs: number }

/** Long enough that a client that polls every two seconds sees progress rise. */
export const defaultLatency: Latency = { minMs: 3000, maxMs: 6000 }

export type CallLatency = {
  /** Resolves when the image may be answered. Rejects with an AbortError when the signal fires first. */
  readonly wait: (order: ImageOrder, fault: Fault | undefined, signal: AbortSignal) => Promise<void>
  /** Ends the wait of the matching calls with a `hold` fault; returns their number. */
  readonly release: (matcher?: CallMatcher) => number
}

type HeldCall = { readonly order: ImageOrder; readonly released: AbortController }

/** How long the vendor works on a call: the configured latency, unless the call's fault says otherwise. */
export function createCallLatency(latency: Latency): CallLatency {
  const heldCalls = new Set<HeldCall>()

  async function hold(order: ImageOrder, signal: AbortSignal): Promise<void> {
    const held = { order, released: new AbortController() }
    heldCalls.add(held)
    try {
      await once(held.released.signal, 'abort', { signal })
    } finally {
      heldCalls.delete(held)
    }
  }

  return {
    async wait(order, fault, signal) {
      if (fault?.kind === 'hold') await hold(order, signal)
      await sleep(durationMs(fault, latency), undefined, { signal })
    },
    release(matcher = {}) {
      const matching = [...heldCalls].filter(({ order }) => matches(matcher, order))
      for (const { released } of matching) released.abort()
      return matching.length
    },
  }
}

function durationMs(fault: Fault | undefined, latency: Latency): number {
  if (fault?.kind === 'delay') return fault.ms
  if (fault?.kind === 'hold') return fault.delay ?? 0
  if (fault?.delay !== undefined) return fault.delay
  if (typeof latency === 'number') return latency
  return latency.minMs + Math.random() * (latency.maxMs - latency.minMs)
}
