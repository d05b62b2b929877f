import { WorkflowNotFoundError } from '@temporalio/client'
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import { imageTaskWorkflow } from '../../workflows/contract.ts'
import { assertNever } from '../domain/assertNever.ts'
import { workflowIdOf } from '../domain/ids.ts'
import type { KilledRun, RunReport } from '../domain/ports/taskRuns.ts'
import type { Temporal } from './connect.ts'
import { grpcReason } from './grpcReason.ts'

const runTimeoutMs = 2_000

/** How the newest run of a task stands, for the reconciler. Needs no worker; never throws for Temporal. */
export function createReportRun(temporal: Temporal) {
  return async (taskId: string): Promise<RunReport> => {
    try {
      const handle = temporal.client.workflow.getHandle(workflowIdOf(taskId))
      const { status } = await temporal.within(runTimeoutMs, () => handle.describe())
      return runState(status.name)
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return 'missing'
      grpcReason(error)
      return 'unreachable'
    }
  }
}

type StatusName = Awaited<
  ReturnType<ReturnType<Temporal['client']['workflow']['getHandle']>['describe']>
>['status']['name']

function runState(name: StatusName): RunReport {
  switch (name) {
    case 'RUNNING':
    case 'PAUSED':
    case 'CONTINUED_AS_NEW':
      return 'running'
    case 'COMPLETED':
      return 'completed'
    case 'FAILED':
      return 'failed'
    case 'CANCELLED':
      return 'cancelled'
    case 'TERMINATED':
    case 'TIMED_OUT':
      return 'terminated'
    case 'UNSPECIFIED':
    case 'UNKNOWN':
      return 'unreachable'
    default:
      return assertNever(name)
  }
}

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
      return await temporal.within(runTimeoutMs, () => list(temporal, query))
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
    await temporal.within(runTimeoutMs, () => handle.cancel())
    return 'requested'
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'missing'
    grpcReason(error)
    return 'unreachable'
  }
}

const historyTimeoutMs = 5_000

/**
 * The history of a task's newest run as Temporal's JSON, fit for its UI and for `replayHistories`.
 * `undefined`: Temporal knows no run of it. Throws when Temporal is away.
 */
export async function fetchHistory(
  temporal: Temporal,
  taskId: string,
): Promise<string | undefined> {
  try {
    const handle = temporal.client.workflow.getHandle(workflowIdOf(taskId))
    return historyToJSON(await temporal.within(historyTimeoutMs, () => handle.fetchHistory()))
  } catch (error) {
    if (grpcReason(error) === 'NOT_FOUND') return undefined
    throw error
  }
}
