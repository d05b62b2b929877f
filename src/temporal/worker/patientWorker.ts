import { setTimeout as sleep } from 'node:timers/promises'
import type { RunningWorker } from './createWorker.ts'

const pauseMs = 2_000

/**
 * A worker that waits for a Temporal which is away when the process starts: until it is connected it is
 * not running, and the rest of the process (the reconciler) does its work. Once connected, an outage is
 * waited out by the SDK itself.
 */
export function createPatientWorker(
  create: () => Promise<RunningWorker>,
  onUnreachable: (error: unknown) => void,
): RunningWorker {
  const stopping = new AbortController()
  const stopAsked = Promise.withResolvers<undefined>()
  let worker: RunningWorker | undefined

  async function work(): Promise<void> {
    while (!stopping.signal.aborted) {
      const connecting = create()
      try {
        worker = await Promise.race([connecting, stopAsked.promise])
      } catch (error) {
        onUnreachable(error)
        await sleep(pauseMs, undefined, { signal: stopping.signal }).catch(() => {})
        continue
      }
      // `stop` came while it connected: nobody else will stop it. A frozen Temporal may take half a minute.
      if (worker === undefined) return void stopLate(connecting)
      if (stopping.signal.aborted) await worker.stop()
      return worker.done
    }
  }

  const done = work()
  return {
    done,
    isRunning: () => worker?.isRunning() ?? false,
    stop: async () => {
      stopping.abort()
      stopAsked.resolve(undefined)
      await worker?.stop()
      await done
    },
  }
}

/** Of a connection that nobody waits for any more: that it fails, now or while it stops, is nobody's loss. */
async function stopLate(connecting: Promise<RunningWorker>): Promise<void> {
  await connecting.then((late) => late.stop()).catch(() => {})
}
