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
  const stopping = new AbortController()
  const { signal } = stopping
  let worker: RunningWorker | undefined

  async function run(): Promise<void> {
    for (let tries = 1; worker === undefined && !signal.aborted; tries += 1) {
      try {
        worker = await create()
      } catch (error) {
        if (tries === 1) onUnreachable(error)
        await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => {})
      }
    }
    // Connecting can take half a minute, and `stop` does not wait for it. So a late worker is stopped here.
    if (signal.aborted) await worker?.stop()
    await worker?.done
  }

  return {
    done: run(),
    isRunning: () => worker?.isRunning() ?? false,
    stop: async () => {
      stopping.abort()
      await worker?.stop()
    },
  }
}
