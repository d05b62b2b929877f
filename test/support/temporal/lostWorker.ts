// A worker process that a test kills: it prints each task it gets and never finishes one.
import { createActivities } from '../../../activities/createActivities.ts'
import { startTestWorker } from './temporalWorld.ts'

const [address, namespace] = process.argv.slice(2)
if (address === undefined || namespace === undefined) throw new Error('address and namespace')
await startTestWorker(
  { address, namespace },
  createActivities({
    produceImage: ({ taskId }) => {
      process.stdout.write(`taken ${taskId}\n`)
      return new Promise(() => {})
    },
    settleOrFail: async () => 'failed',
    cancelTask: async () => 'call_under_way',
    onUnexpected: () => {},
  }),
)
process.stdout.write('ready\n')
