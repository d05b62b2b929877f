import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { CallMatcher } from './callLog.ts'
import { matches } from './callLog.ts'
import type { Fault } from './faults.ts'
import type { ImageOrder } from './imageOrder.ts'

/** How many milliseconds an image takes: a fixed number, or a random number between two bounds. */
export type Latency = number | { readonly minMs: number; readonly maxMs: number }

/**
 * The latency when none is configured. Long enough that a client that asks every two seconds sees the
 * progress rise.
 */
export const defaultLatency: Latency = { minMs: 3000, maxMs: 6000 }

export type CallLatency = {
  /** Resolves when the image may be sent. When the signal aborts first, rejects with an AbortError. */
  readonly wait: (order: ImageOrder, fault: Fault | undefined, signal: AbortSignal) => Promise<void>
  /** Lets the matching calls with a `hold` fault continue, and returns their number. */
  readonly release: (matcher?: CallMatcher) => number
}

type HeldCall = { readonly order: ImageOrder; readonly released: AbortController }

/**
 * Creates the waits that stand for the vendor's time to make an image. A wait lasts as long as the configured
 * latency, unless the fault of the call says otherwise.
 */
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
