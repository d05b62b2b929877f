import type { Context } from '@temporalio/activity'
import { waitingSignalName } from '../workflows/contract.ts'

const timeoutMs = 1_000

/**
 * Tells the activity's own workflow what it is waiting for, for whoever looks at the run in Temporal's UI.
 * A courtesy: when it fails, the wait is told by the pending activity alone.
 */
export async function tellWorkflow(context: Context, text: string): Promise<void> {
  try {
    const { client, info } = context
    if (info.workflowExecution === undefined) return
    const { workflowId, runId } = info.workflowExecution
    const run = client.workflow.getHandle(workflowId, runId)
    await client.withDeadline(Date.now() + timeoutMs, () => run.signal(waitingSignalName, text))
  } catch {
    // Temporal is away or busy: nobody is looking.
  }
}
