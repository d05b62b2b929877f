import type { Family } from '../../domain/models.ts'
import type { Fault, RetryForm } from './faults.ts'
import type { ImageOrder } from './imageOrder.ts'

/** A fixed window which opens with the first call: `grants` calls pass, the rest get 429. */
export type RateLimit = {
  /** Without: every model together. */
  readonly model?: string | undefined
  readonly family?: Family | undefined
  readonly grants: number
  readonly windowMs: number
  /** How the remaining time is told; `seconds`, rounded up, unless said. */
  readonly retryAfter?: RetryForm | undefined
}

export type RateLimiter = {
  /** The returned function lifts the limit again. */
  limit: (limit: RateLimit) => () => void
  /** The refusal, or null when every limit grants the call (which is then counted). */
  check: (order: ImageOrder, nowMs: number) => Fault | null
  clear: () => void
}

type Window = { readonly limit: RateLimit; endsAt: number; used: number }

export function createRateLimiter(): RateLimiter {
  let windows: Window[] = []
  return {
    limit(limit) {
      const window: Window = { limit, endsAt: 0, used: 0 }
      windows.push(window)
      return () => {
        windows = windows.filter((other) => other !== window)
      }
    },
    check(order, nowMs) {
      const concerned = windows.filter(({ limit }) => concerns(limit, order))
      for (const window of concerned) {
        if (nowMs >= window.endsAt) {
          window.endsAt = nowMs + window.limit.windowMs
          window.used = 0
        }
      }
      const full = concerned.find((window) => window.used >= window.limit.grants)
      if (full !== undefined) return refusal(full, nowMs)
      for (const window of concerned) window.used += 1
      return null
    },
    clear() {
      windows = []
    },
  }
}

function concerns({ model, family }: RateLimit, order: ImageOrder): boolean {
  return (
    (model === undefined || model === order.model) &&
    (family === undefined || family === order.family)
  )
}

function refusal({ limit, endsAt }: Window, nowMs: number): Fault {
  const form = limit.retryAfter ?? 'seconds'
  const seconds = (endsAt - nowMs) / 1000
  const exact = form === 'ms' || form === 'retry-info'
  return { kind: '429', form, retryAfter: exact ? seconds : Math.ceil(seconds) }
}
