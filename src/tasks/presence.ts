import { setTimeout as sleep } from 'node:timers/promises'
import type { AttemptName, AttemptStore } from '../domain/ports/attemptStore.ts'
import { presenceEveryMs } from '../domain/limits.ts'

type Presence = {
  /** Runs the work, and says until its end that the attempt's call is under way. */
  readonly during: <Value>(attempt: AttemptName, work: () => Promise<Value>) => Promise<Value>
}

/**
 * Says for all calls of this process, every few seconds, that they are under way. Temporal loses sight of
 * a worker that lives when it stops itself, and an operator may reset a run: whoever takes the task up
 * then must wait for the call, not make it again (design 1.9). A word that fails is not repeated: the next
 * one comes soon, and before a silent call is given up it is doubted for longer than that.
 */
export function createPresence(
  { touchAttempts }: Pick<AttemptStore, 'touchAttempts'>,
  everyMs: number = presenceEveryMs,
): Presence {
  const underWay = new Set<AttemptName>()
  let timer: NodeJS.Timeout | undefined
  let telling = false

  async function tell(): Promise<void> {
    if (telling) return
    telling = true
    const told = touchAttempts([...underWay]).catch(() => {})
    // One that hangs on a dead connection must not keep the next ones back.
    await Promise.race([told, sleep(everyMs, undefined, { ref: false })])
    telling = false
  }

  return {
    during: async (attempt, work) => {
      underWay.add(attempt)
      timer ??= setInterval(() => void tell(), everyMs)
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
