import { assertNever } from './assertNever.ts'
import { pollIntervalSeconds } from './limits.ts'
import type { LiveStatus } from './taskState.ts'

/** Spec: the lookup is polled every 2 to 5 seconds. */
const soonestSeconds = 2
const latestSeconds = 5

/**
 * When to ask again about a task in flight, from what its workflow does now: soon when the image is
 * being stored, later when it waits out a rate limit. A hint in a header, so it may change its mind,
 * which progress and status may not.
 */
export function pollAfterSeconds(live: LiveStatus | undefined, nowMs: number): number {
  if (live === undefined) return pollIntervalSeconds
  switch (live.stage) {
    case 'storing':
      return soonestSeconds
    case 'waiting': {
      const waitSeconds = Math.ceil(((live.untilMs ?? nowMs) - nowMs) / 1000)
      return Math.min(latestSeconds, Math.max(pollIntervalSeconds, waitSeconds))
    }
    case 'calling':
      return pollIntervalSeconds
    default:
      return assertNever(live)
  }
}
