import { WorkflowNotFoundError } from '@temporalio/client'
import { workflowIdOf } from '../domain/ids.ts'
import type { Temporal } from './connect.ts'
import { grpcReason } from './grpcReason.ts'

const timeoutMs = 2_000

/**
 * Asks the workflow of a cancelled task to end now instead of at its next wake-up. The task itself is
 * cancelled in PostgreSQL before: nothing depends on this. `missing` also for a closed run.
 */
export async function cancelWorkflow(
  temporal: Temporal,
  taskId: string,
): Promise<'requested' | 'missing' | 'unreachable'> {
  try {
    const handle = temporal.client.workflow.getHandle(workflowIdOf(taskId))
    await temporal.within(timeoutMs, () => handle.cancel())
    return 'requested'
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'missing'
    grpcReason(error)
    return 'unreachable'
  }
}
