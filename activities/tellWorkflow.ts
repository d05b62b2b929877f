import type { Context } from '@temporalio/activity'
import { waitingSignalName } from '../workflows/contract.ts'

const timeoutMs = 1_000
/** Tasks whose last words are remembered. */
const rememberedMax = 10_000

/**
 * Tells an activity's own workflow what it is waiting for, for whoever looks at the run in Temporal's UI:
 * once, while the words are the same, for each costs the server a signal and a workflow task. A courtesy:
 * when it fails, the wait is told by the pending activity alone.
 */
export function createTellWorkflow(): (context: Context, text: string) => Promise<void> {
  const told = new Map<string, string>()

  return async (context, text) => {
    try {
      const { client, info } = context
      if (info.workflowExecution === undefined) return
      const { workflowId, runId } = info.workflowExecution
      if (told.get(runId) === text) return
      const run = client.workflow.getHandle(workflowId, runId)
      await client.withDeadline(Date.now() + timeoutMs, () => run.signal(waitingSignalName, text))
      told.delete(runId)
      told.set(runId, text)
      const [oldest] = told.keys()
      if (oldest !== undefined && told.size > rememberedMax) told.delete(oldest)
    } catch {
      // Temporal is away or busy: nobody is looking.
    }
  }
}
