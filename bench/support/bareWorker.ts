// node bareWorker.ts ADDRESS NAMESPACE QUEUE runs a worker of `bare` with the defaults of the SDK, until its
// parent disconnects.
import { NativeConnection, Worker } from '@temporalio/worker'
import { fileURLToPath } from 'node:url'
import { installRuntime } from '../../src/temporal/worker/runtime.ts'

const [address, namespace, taskQueue] = process.argv.slice(2)
if (address === undefined || namespace === undefined || taskQueue === undefined) {
  throw new Error('usage: node bareWorker.ts ADDRESS NAMESPACE QUEUE')
}

installRuntime({ log: () => {} })
const connection = await NativeConnection.connect({ address })
const worker = await Worker.create({
  connection,
  namespace,
  taskQueue,
  workflowsPath: fileURLToPath(new URL('bareWorkflow.ts', import.meta.url)),
  activities: { nothing: async () => {} },
})
process.once('disconnect', () => worker.shutdown())
process.send?.('ready')
await worker.run()
await connection.close()
