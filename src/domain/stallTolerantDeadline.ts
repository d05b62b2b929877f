/**
 * A deadline that allows for stalls. In a stall this process does not run (SIGSTOP, a suspended machine). The
 * awaited event may happen during the stall, so the process needs some time afterwards to notice it. The
 * caller owns the timer and the clock.
 */
type StallTolerantDeadline = {
  /**
   * Call this at the start, and again after each delay, always with the same monotonic clock. Returns the
   * delay until the next call in milliseconds, at least 1. Returns `undefined` when the deadline has passed.
   */
  readonly nextDelayMs: (nowMs: number) => number | undefined
}

type DeadlineBounds = {
  readonly limitMs: number
  /** Time that must be left after a stall. */
  readonly afterStallMs: number
  /** Limit for all extensions together, so that repeated stalls do not move the deadline for ever. */
  readonly extensionsMsMax: number
}

/**
 * Longest delay between two calls of `nextDelayMs`. Short enough to notice a stall, and long enough to be
 * cheap.
 */
const tickMs = 250

/**
 * Lateness of a timer that counts as a stall of the process. A busy event loop rarely makes a timer this
 * late.
 */
const stallMs = 200

/** Creates a deadline that passes `limitMs` after the first call of `nextDelayMs`. */
export function createStallTolerantDeadline(bounds: DeadlineBounds): StallTolerantDeadline {
  let endsAtMs: number | undefined
  let expectedAtMs = 0
  let extensionsLeftMs = bounds.extensionsMsMax

  return {
    nextDelayMs: (nowMs) => {
      if (endsAtMs === undefined) {
        endsAtMs = nowMs + bounds.limitMs
      } else if (nowMs > expectedAtMs + stallMs) {
        const fromMs = Math.max(endsAtMs, nowMs)
        const wantedMs = Math.max(0, nowMs + bounds.afterStallMs - fromMs)
        const extensionMs = Math.min(wantedMs, extensionsLeftMs)
        extensionsLeftMs -= extensionMs
        if (extensionMs > 0) endsAtMs = fromMs + extensionMs
      }
      if (nowMs >= endsAtMs) return undefined
      const delayMs = Math.min(tickMs, Math.max(1, Math.ceil(endsAtMs - nowMs)))
      expectedAtMs = nowMs + delayMs
      return delayMs
    },
  }
}
