import type { ReplayTask } from '../cli/context.ts'
import { installRuntime, loggerOf } from '../temporal/worker/runtime.ts'
import { replayTask } from '../temporal/worker/replay.ts'
import { workflowBundle } from '../temporal/worker/workflowBundle.ts'

const lingerMs = 500

/** The one part of the command line that loads the worker's SDK. Bundling takes a second or two. */
export function openReplay(): ReplayTask {
  return async (events) => {
    const silent = () => {}
    try {
      installRuntime({ log: silent })
      return await replayTask(await workflowBundle({ logger: loggerOf(silent) }), events)
    } catch (error) {
      // Only a replay that came to its end takes the SDK's threads down with it.
      setTimeout(() => process.exit(1), lingerMs).unref()
      throw error
    }
  }
}
