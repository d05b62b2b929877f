import type { Fault } from './faults.ts'

/**
 * A fixed window of time that begins with the first call. In the window, the first `grants` calls pass, and
 * all others get a 429.
 */
export type RateLimit = {
  /** Only calls of this model count. When absent, the calls of all models count together. */
  readonly model?: string
  readonly grants: number
  readonly windowMs: number
}

export type RateLimiter = {
  /** Adds a limit. A call passes only if every limit for its model lets it pass. */
  readonly limit: (limit: RateLimit) => void
  /**
   * Counts a call and returns `undefined` when the call passes. Otherwise returns a 429 with the rest of the
   * window, in whole seconds rounded up; no limit counts such a call.
   */
  readonly check: (model: string, nowMs: number) => Fault | undefined
  readonly clear: () => void
}

type Window = { readonly limit: RateLimit; endsAtMs: number; used: number }

export function createRateLimiter(): RateLimiter {
  let windows: Window[] = []
  return {
    limit(limit) {
      windows.push({ limit, endsAtMs: 0, used: 0 })
    },
    check(model, nowMs) {
      const covering = windows.filter(({ limit }) => (limit.model ?? model) === model)
      for (const window of covering) {
        if (nowMs < window.endsAtMs) continue
        window.endsAtMs = nowMs + window.limit.windowMs
        window.used = 0
      }
      const full = covering.find(({ limit, used }) => used >= limit.grants)
      if (full !== undefined) {
        return { kind: '429', retryAfter: Math.ceil((full.endsAtMs - nowMs) / 1000) }
      }
      for (const window of covering) window.used += 1
      return undefined
    },
    clear() {
      windows = []
    },
  }
}
