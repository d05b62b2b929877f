import { type CallMatcher, matches } from './callLog.ts'
import type { ImageOrder } from './imageOrder.ts'

/** Calls that wait, under way, until somebody opens: tests see a call in flight for as long as they like. */
export type HoldGate = {
  /** Rejects with an AbortError when the signal fires first. */
  readonly wait: (order: ImageOrder, signal: AbortSignal) => Promise<void>
  /** Lets the matching calls that wait now go on; says how many there were. */
  readonly release: (matcher: CallMatcher) => number
}

type Held = { readonly order: ImageOrder; readonly open: () => void }

export function createHoldGate(): HoldGate {
  const held = new Set<Held>()
  return {
    async wait(order, signal) {
      signal.throwIfAborted()
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const entry = { order, open: resolve }
      const abort = (): void => reject(signal.reason)
      held.add(entry)
      signal.addEventListener('abort', abort, { once: true })
      try {
        await promise
      } finally {
        held.delete(entry)
        signal.removeEventListener('abort', abort)
      }
    },
    release(matcher) {
      const opened = [...held].filter(({ order }) => matches(matcher, order))
      for (const { open } of opened) open()
      return opened.length
    },
  }
}
