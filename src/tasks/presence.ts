import { setTimeout as sleep } from 'node:timers/promises'
import { presenceEveryMs } from '../domain/limits.ts'
import type { AttemptName, AttemptStore } from '../domain/ports/attemptStore.ts'

type Presence = {
  /**
   * Runs the work. While the work runs, this process reports at each interval that the attempt's call is
   * under way.
   */
  readonly during: <Value>(attempt: AttemptName, work: () => Promise<Value>) => Promise<Value>
}

/**
 * Creates the reporter that tells PostgreSQL, every few seconds, which calls of this process are under way.
 *
 * Another worker can get the same task during a call, because an operator resets the run or because Temporal
 * loses contact with this worker. Thanks to the reports, the other worker waits for the call and does not
 * make it again. A failed report is not tried again, because the next report comes soon. A call counts as
 * lost only after several missing reports.
 */
export function createPresence(
  { touchAttempts }: Pick<AttemptStore, 'touchAttempts'>,
  everyMs: number = presenceEveryMs,
): Presence {
  const underWay = new Set<AttemptName>()
  let timer: NodeJS.Timeout | undefined
  let reporting = false

  async function report(): Promise<void> {
    if (reporting) return
    reporting = true
    const reported = touchAttempts([...underWay]).catch(() => {})
    // Stop waiting after one interval, so that a report on a dead connection does not block the next reports.
    await Promise.race([reported, sleep(everyMs, undefined, { ref: false })])
    reporting = false
  }

  return {
    during: async (attempt, work) => {
      underWay.add(attempt)
      timer ??= setInterval(() => void report(), everyMs)
      try {
        return await work()
      } finally {
        underWay.delete(attempt)
        if (underWay.size === 0) {
          clearInterval(timer)
          timer = undefined
        }
      }
    },
  }
}
