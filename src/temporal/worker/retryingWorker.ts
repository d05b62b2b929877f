import { setTimeout as sleep } from 'node:timers/promises'
import type { RunningWorker } from './createWorker.ts'

const pauseMs = 2_000

/**
 * A worker that retries `create` until Temporal is reachable. Until then it is not running, and the rest of
 * the process (the reconciler) works without it. After the first connection the SDK itself reconnects.
 */
export function createRetryingWorker(
  create: () => Promise<RunningWorker>,
  onUnreachable: (error: unknown) => void,
): RunningWorker {
  const stopping = new AbortController()
  const stopRequested = Promise.withResolvers<undefined>()
  let worker: RunningWorker | undefined

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const connecting = create()
      try {
        worker = await Promise.race([connecting, stopRequested.promise])
      } catch (error) {
        onUnreachable(error)
        await sleep(pauseMs, undefined, { signal: stopping.signal }).catch(() => {})
        continue
      }
      // `stop` was called while `create` was connecting, which can take half a minute. `stop` does not wait
      // for it and has no worker to stop, so the worker is stopped here once it exists.
      if (worker === undefined) return void stopLate(connecting)
      if (stopping.signal.aborted) await worker.stop()
      return worker.done
    }
  }

  const done = run()
  return {
    done,
    isRunning: () => worker?.isRunning() ?? false,
    stop: async () => {
      stopping.abort()
      stopRequested.resolve(undefined)
      await worker?.stop()
      await done
    },
  }
}

/** The process is stopping, so it does not matter whether the connection or the stop fails. */
async function stopLate(connecting: Promise<RunningWorker>): Promise<void> {
  await connecting.then((late) => late.stop()).catch(() => {})
}
