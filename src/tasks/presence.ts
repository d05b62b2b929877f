import { setTimeout as sleep } from 'node:timers/promises'
import { presenceEveryMs } from '../domain/limits.ts'
import type { AttemptName, AttemptStore } from '../domain/ports/attemptStore.ts'

type Presence = {
  /** Runs the work. Until it ends, the attempt is reported as under way at each interval. */
  readonly during: <Value>(attempt: AttemptName, work: () => Promise<Value>) => Promise<Value>
}

/**
 * Reports to PostgreSQL, every few seconds, which calls of this process are under way. Another worker can
 * get the same task while a call is under way: an operator resets the run, or Temporal loses contact with
 * this worker. The other worker then waits for the call instead of making it again. A failed report is not
 * repeated, because the next one comes soon; a call counts as lost only after several missing reports.
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
    // A report that hangs on a dead connection does not block the next ones.
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
