import { setTimeout as sleep } from 'node:timers/promises'
import type { PartProcess } from './partProcess.ts'
import type { Say } from './say.ts'

const restartPauseMs = 1_000
const restartPauseMsMax = 30_000

/** A part that is started again whenever it ends by itself. */
export type KeptPart = {
  /** Ends it for good; resolves when it is gone. */
  stop: () => Promise<void>
  /** SIGKILL, for good: as a crash of everything. */
  kill: () => void
  /** The process that runs now. */
  current: () => PartProcess
}

/**
 * Starts a part and keeps it running: a process that crashed or was killed is started again, with a
 * growing pause while that fails. The first start's failure is the caller's.
 */
export const keepRunning = async (
  name: string,
  start: () => Promise<PartProcess>,
  say: Say,
): Promise<KeptPart> => {
  const over = new AbortController()
  let current = await start()

  const tend = async (): Promise<void> => {
    let pauseMs = restartPauseMs
    while (!over.signal.aborted) {
      const end = await current.ended
      if (over.signal.aborted) return
      say(`${name} ended by itself (${end}): starting it again.`)
      await sleep(pauseMs, undefined, { signal: over.signal }).catch(() => undefined)
      if (over.signal.aborted) return
      try {
        current = await start()
        pauseMs = restartPauseMs
      } catch (error) {
        pauseMs = Math.min(pauseMs * 2, restartPauseMsMax)
        say(`${name}: ${error instanceof Error ? error.message : String(error)}`)
      }
    }
  }
  const tending = tend()

  return {
    stop: async () => {
      over.abort()
      await current.stop()
      await tending
      // A start that was under way when we were told to stop has just come up.
      await current.stop()
    },
    kill: () => {
      over.abort()
      current.kill()
    },
    current: () => current,
  }
}
