import { setTimeout as sleep } from 'node:timers/promises'
import type { PartProcess } from './partProcess.ts'
import type { Say } from './startError.ts'

/** A part that is started again whenever it ends without being asked to. */
export type KeptPart = {
  /** Ends the part and does not start it again. Resolves when its process has ended. */
  readonly stop: () => Promise<void>
  /** Sends SIGKILL and does not start the part again. A start that is under way gets SIGKILL when it is done. */
  readonly kill: () => void
  /** Returns the process that was started last. It may have ended, because the next start is still to come. */
  readonly current: () => PartProcess
}

const restartPauseMs = 1_000
const restartPauseMsMax = 30_000

/**
 * Starts a part and keeps it running. When its process crashes or is killed, starts it again. The pause
 * before a start doubles with every start that fails. Rejects when the first start fails.
 */
export async function keepRunning(
  name: string,
  start: () => Promise<PartProcess>,
  say: Say,
): Promise<KeptPart> {
  const stopped = new AbortController()
  let isKilled = false
  let current = await start()

  const restartOnEnd = async (): Promise<void> => {
    let pauseMs = restartPauseMs
    while (!stopped.signal.aborted) {
      const end = await current.ended
      if (stopped.signal.aborted) return
      say(`${name} ended unexpectedly (${end}): starting it again.`)
      await sleep(pauseMs, undefined, { signal: stopped.signal }).catch(() => undefined)
      if (stopped.signal.aborted) return
      try {
        current = await start()
        // If `kill` was called during this start, it reached only the previous process.
        if (isKilled) current.kill()
        pauseMs = restartPauseMs
      } catch (error) {
        pauseMs = Math.min(pauseMs * 2, restartPauseMsMax)
        say(`${name}: ${error instanceof Error ? error.message : String(error)}`)
      }
    }
  }
  const restarting = restartOnEnd()

  return {
    stop: async () => {
      stopped.abort()
      await current.stop()
      await restarting
      // If a restart was running when `stop` was called, it has finished by now, and `current` is the new
      // process.
      await current.stop()
    },
    kill: () => {
      isKilled = true
      stopped.abort()
      current.kill()
    },
    current: () => current,
  }
}
