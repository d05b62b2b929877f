import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Temporal } from '../../src/temporal/connect.ts'

export const bareTaskQueue = 'bench-bare'
const limitMs = 60_000

/**
 * Starts a worker process for a workflow with one empty activity, in the namespace of the service. It measures
 * what Temporal itself costs on this machine.
 */
export async function startBareTemporal(temporal: Temporal, address: string) {
  const script = fileURLToPath(new URL('bareWorker.ts', import.meta.url))
  const worker = fork(script, [address, temporal.namespace, bareTaskQueue], { stdio: 'inherit' })
  await once(worker, 'message')
  let count = 0
  return {
    /** Starts one workflow and waits for its result. */
    execute: async () => {
      count += 1
      const options = {
        workflowId: `bare-${process.pid}-${count}`,
        taskQueue: bareTaskQueue,
        args: [],
      }
      await temporal.withDeadline(limitMs, () => temporal.client.workflow.execute('bare', options))
    },
    stop: async () => {
      const ended = once(worker, 'exit')
      worker.disconnect()
      await ended
    },
  }
}
