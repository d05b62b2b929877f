import type { ReplayTask } from '../cli/context.ts'
import { replayTask } from '../temporal/worker/replay.ts'
import { installRuntime } from '../temporal/worker/runtime.ts'
import { workflowBundle } from '../temporal/worker/workflowBundle.ts'

/** Time to write the error message before the process exits. */
const exitDelayMs = 500

/**
 * Returns the function that replays histories with the workflow code of this checkout. This function has its
 * own file, because the file imports Temporal's worker SDK (65 MiB), which no other command may load.
 * Bundling the workflow code takes a second or two. The bundle is cached for later replays.
 */
export function openReplay(): ReplayTask {
  return async (events) => {
    try {
      installRuntime(() => {})
      return await replayTask(await workflowBundle(), events)
    } catch (error) {
      // If the replay fails, the threads of the SDK do not end, and they would keep this process alive.
      setTimeout(() => process.exit(1), exitDelayMs).unref()
      throw error
    }
  }
}
