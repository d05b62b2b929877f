import type { ImageOrder } from './imageOrder.ts'

/** Milliseconds from request to answer: fixed, between two bounds at random, or decided per order. */
export type Latency =
  | number
  | { readonly minMs: number; readonly maxMs: number }
  | ((order: ImageOrder) => number)

/** Long enough that a poll each two seconds sees progress rise. */
export const defaultLatency: Latency = { minMs: 3000, maxMs: 6000 }

export function latencyMs(latency: Latency, order: ImageOrder): number {
  if (typeof latency === 'number') return latency
  if (typeof latency === 'function') return latency(order)
  return latency.minMs + Math.random() * (latency.maxMs - latency.minMs)
}
