/**
 * A deadline that allows for stalls: times in which this process did not run (SIGSTOP, a suspended machine).
 * What the deadline waits for may have arrived meanwhile, so after a stall some time must be left to read
 * it. The owner of the deadline keeps the timer and the clock.
 */
type StallTolerantDeadline = {
  /**
   * To be called at the start and when each delay is over, with the same monotonic clock. Returns the
   * delay until the next call in milliseconds, at least 1; `undefined` once the deadline has passed.
   */
  readonly nextDelayMs: (nowMs: number) => number | undefined
}

type DeadlineBounds = {
  readonly limitMs: number
  /** Time that must be left after a stall. */
  readonly afterStallMs: number
  /** All extensions together, so that repeated stalls do not move the deadline for ever. */
  readonly extensionsMsMax: number
}

/** Short enough for stalls to be noticed, and cheap. */
const tickMs = 250

/** A timer this late did not fire because the process stalled. A busy event loop is rarely as late. */
const stallMs = 200

/** A deadline of `limitMs` from the first call of `nextDelayMs`. */
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
