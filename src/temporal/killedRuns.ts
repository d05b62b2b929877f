import type { KilledRun } from '../domain/execution.ts'
import { workflowIdOf } from '../domain/ids.ts'
import { imageTaskWorkflow } from '../../workflows/contract.ts'
import type { Temporal } from './connect.ts'
import { grpcReason } from './grpcReason.ts'

const timeoutMs = 2_000
/** Longer than a reconciler is ever away between two leaders; Temporal's clock may differ from ours. */
const windowMs = 10 * 60_000
const runsMax = 500

/**
 * Runs that somebody terminated lately: they recorded nothing, and nothing in PostgreSQL tells of it. One
 * visibility query, empty in good times; only a hint, the reconciler asks about each. Empty also while
 * Temporal is away.
 */
export function createKilledRuns(temporal: Temporal) {
  return async (): Promise<readonly KilledRun[]> => {
    const since = new Date(Date.now() - windowMs).toISOString()
    const query =
      `WorkflowType = '${imageTaskWorkflow}' AND ExecutionStatus IN ('Terminated', 'TimedOut')` +
      ` AND CloseTime > '${since}'`
    try {
      return await temporal.within(timeoutMs, () => list(temporal, query))
    } catch (error) {
      grpcReason(error)
      return []
    }
  }
}

async function list(temporal: Temporal, query: string): Promise<readonly KilledRun[]> {
  const runs: KilledRun[] = []
  for await (const { workflowId, runId } of temporal.client.workflow.list({ query })) {
    runs.push({ taskId: workflowId.slice(workflowIdOf('').length), runId })
    if (runs.length >= runsMax) break
  }
  return runs
}
