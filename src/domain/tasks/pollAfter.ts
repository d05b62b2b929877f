import { assertNever } from '../assertNever.ts'
import type { RunStage } from './task.ts'

/**
 * Contract. How many seconds a client shall wait until it looks its task up. The answer to an accepted task names
 * this time in `Retry-After`, and most lookups of a live task do too.
 */
export const pollIntervalSeconds = 3

/** Limits for the Retry-After of a task lookup. Clients are told to poll every 2 to 5 seconds. */
const pollSecondsMin = 2
const pollSecondsMax = 5

/**
 * Returns the Retry-After of a lookup of a live task, in seconds. It is shorter than `pollIntervalSeconds` while the
 * image is being stored, and may be longer during a wait. It is only a hint, so it may grow and shrink.
 */
export function pollAfterSeconds(run: RunStage | undefined, nowMs: number): number {
  if (run === undefined) return pollIntervalSeconds
  switch (run.stage) {
    case 'storing':
      return pollSecondsMin
    case 'waiting': {
      const waitSeconds = Math.ceil(((run.untilMs ?? nowMs) - nowMs) / 1000)
      return Math.min(pollSecondsMax, Math.max(pollIntervalSeconds, waitSeconds))
    }
    case 'accepted':
    case 'calling':
      return pollIntervalSeconds
    default:
      return assertNever(run)
  }
}
