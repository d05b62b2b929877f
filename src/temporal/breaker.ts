export type Breaker = {
  /** How many calls may be under way: none while open, one as a probe, else any number. */
  readonly allowed: () => number
  readonly succeeded: () => void
  readonly failed: () => void
}

/** Opens after `failures` in a row for `pauseMs`; then one probe decides. `nowMs` is monotonic. */
export function createBreaker(options: {
  readonly nowMs: () => number
  readonly failures: number
  readonly pauseMs: number
}): Breaker {
  let inARow = 0
  let openUntilMs = 0
  return {
    allowed: () => {
      if (inARow < options.failures) return Number.POSITIVE_INFINITY
      return options.nowMs() < openUntilMs ? 0 : 1
    },
    succeeded: () => {
      inARow = 0
    },
    failed: () => {
      inARow += 1
      if (inARow >= options.failures) openUntilMs = options.nowMs() + options.pauseMs
    },
  }
}
