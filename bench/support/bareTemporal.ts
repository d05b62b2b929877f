import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Temporal } from '../../src/temporal/connect.ts'

const taskQueue = 'bench-bare'
const limitMs = 60_000

/**
 * A worker process of one bare one-activity workflow beside the service's own, on the same server and in
 * the same namespace: what Temporal itself costs here and now.
 */
export async function startBareTemporal(temporal: Temporal, address: string) {
  const script = fileURLToPath(new URL('bareWorker.ts', import.meta.url))
  const worker = fork(script, [address, temporal.namespace, taskQueue], { stdio: 'inherit' })
  await once(worker, 'message')
  let count = 0
  return {
    /** Starts one and waits for its result. */
    execute: async () => {
      count += 1
      const options = { workflowId: `bare-${process.pid}-${count}`, taskQueue, args: [] }
      await temporal.withDeadline(limitMs, () => temporal.client.workflow.execute('bare', options))
    },
    stop: async () => {
      const ended = once(worker, 'exit')
      worker.disconnect()
      await ended
    },
  }
}
