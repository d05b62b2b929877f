import type { ReplayTask } from '../cli/context.ts'
import { installRuntime, loggerOf } from '../temporal/worker/runtime.ts'
import { replayTask } from '../temporal/worker/replay.ts'
import { workflowBundle } from '../temporal/worker/workflowBundle.ts'

/** Time to write the error message before the process ends. */
const exitDelayMs = 500

/**
 * Replays histories against the workflow code of this checkout. A file of its own because it imports
 * Temporal's worker SDK (65 MiB), which no other command may load. Bundling the workflow code takes a
 * second or two.
 */
export function openReplay(): ReplayTask {
  return async (events) => {
    const silent = () => {}
    try {
      installRuntime({ log: silent })
      return await replayTask(await workflowBundle({ logger: loggerOf(silent) }), events)
    } catch (error) {
      // Only a replay that finishes ends the threads of the SDK. They would keep this process alive.
      setTimeout(() => process.exit(1), exitDelayMs).unref()
      throw error
    }
  }
}
