import { setTimeout as sleep } from 'node:timers/promises'
import type { RunningWorker } from './createWorker.ts'

const pauseMs = 2_000

/**
 * Creates a worker that repeats `create` until Temporal can be reached. Until then, only the parts of the process
 * outside of Temporal work, such as the reconciler. After the first connection, the SDK reconnects by itself.
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
      // `stop` was called while `create` was still connecting, which can take half a minute. `stop` did not
      // wait for that and had no worker to stop. So the worker is stopped here as soon as it exists.
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

/** Stops a worker that was created too late. Ignores errors, because the process is ending anyway. */
async function stopLate(connecting: Promise<RunningWorker>): Promise<void> {
  await connecting.then((late) => late.stop()).catch(() => {})
}
