import { setTimeout as sleep } from 'node:timers/promises'
import type { RunningWorker } from './createWorker.ts'

const pauseMs = 2_000

/**
 * Creates a worker that repeats `create` until Temporal can be reached. Until then, only the parts of the process
 * outside of Temporal work, such as the reconciler. After the first connection, the SDK reconnects by itself. Calls
 * `onUnreachable` once, with the first error.
 */
export function createRetryingWorker(
  create: () => Promise<RunningWorker>,
  onUnreachable: (error: unknown) => void,
): RunningWorker {
  const stopping = Promise.withResolvers<'stopping'>()
  let isStopping = false
  let worker: RunningWorker | undefined

  async function run(tries: number): Promise<void> {
    const connecting = create()
    try {
      const first = await Promise.race([connecting, stopping.promise])
      if (first !== 'stopping') {
        worker = first
        if (isStopping) await first.stop()
        return await first.done
      }
      // Connecting can take half a minute, and `stop` does not wait for it. So a late worker is stopped here.
      void connecting.then((late) => late.stop()).catch(() => {})
    } catch (error) {
      if (worker !== undefined) throw error
      if (tries === 1) onUnreachable(error)
      const next = await Promise.race([
        sleep(pauseMs, 'again' as const, { ref: false }),
        stopping.promise,
      ])
      if (next === 'again') return run(tries + 1)
    }
  }

  const done = run(1)
  return {
    done,
    isRunning: () => worker?.isRunning() ?? false,
    stop: async () => {
      isStopping = true
      stopping.resolve('stopping')
      await worker?.stop()
      await done
    },
  }
}
