import { WorkflowNotFoundError } from '@temporalio/client'
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import { imageTaskWorkflow } from '../../workflows/contract.ts'
import type { Temporal } from './connect.ts'
import { assertNever } from '../domain/assertNever.ts'
import { taskIdOf, workflowIdOf } from '../domain/ids.ts'
import type { RunReport, TerminatedRun } from '../domain/ports/taskRuns.ts'
import { grpcReason } from './grpcReason.ts'

const runTimeoutMs = 2_000

/**
 * Returns the state of a task's newest run. The Temporal server knows this state, so no worker needs to be
 * running. When Temporal does not answer, returns `unreachable` and does not throw.
 */
export async function reportRun(temporal: Temporal, taskId: string): Promise<RunReport> {
  return withRun(temporal, taskId, async (run) => runReport((await run.describe()).status.name))
}

type Run = ReturnType<Temporal['client']['workflow']['getHandle']>

/** Asks Temporal about a run, or to do something with it. */
async function withRun<Answer>(
  { client, withDeadline }: Temporal,
  taskId: string,
  ask: (run: Run) => Promise<Answer>,
): Promise<Answer | 'missing' | 'unreachable'> {
  try {
    const run = client.workflow.getHandle(workflowIdOf(taskId))
    return await withDeadline(runTimeoutMs, () => ask(run))
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'missing'
    grpcReason(error)
    return 'unreachable'
  }
}

function runReport(name: Awaited<ReturnType<Run['describe']>>['status']['name']): RunReport {
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

/**
 * How far back the list of terminated runs goes. Longer than any usual pause between two questions of the
 * reconciler, with room for a difference between Temporal's clock and ours.
 */
const windowMs = 10 * 60_000
const runsMax = 500

/**
 * Lists runs that were terminated or timed out in the last ten minutes. Such a run executes no more workflow
 * code, so PostgreSQL does not know that it ended. The list comes from Temporal's visibility store, which may
 * be some seconds behind. So the reconciler checks each run before it acts. Returns an empty list when
 * Temporal does not answer.
 */
export async function listTerminatedRuns(temporal: Temporal): Promise<readonly TerminatedRun[]> {
  const since = new Date(Date.now() - windowMs).toISOString()
  const query =
    `WorkflowType = '${imageTaskWorkflow}' AND ExecutionStatus IN ('Terminated', 'TimedOut')` +
    ` AND CloseTime > '${since}'`
  try {
    return await temporal.withDeadline(runTimeoutMs, () => listRuns(temporal, query))
  } catch (error) {
    grpcReason(error)
    return []
  }
}

async function listRuns(temporal: Temporal, query: string): Promise<readonly TerminatedRun[]> {
  const runs: TerminatedRun[] = []
  for await (const { workflowId, runId } of temporal.client.workflow.list({ query })) {
    runs.push({ taskId: taskIdOf(workflowId), runId })
    if (runs.length >= runsMax) break
  }
  return runs
}

/**
 * Asks the workflow of a cancelled task to end now. Without this request it would end when it continues the
 * next time. The task is already cancelled in PostgreSQL, so nothing depends on this request. Returns
 * `missing` also when the run has already ended.
 */
export async function cancelWorkflow(
  temporal: Temporal,
  taskId: string,
): Promise<'requested' | 'missing' | 'unreachable'> {
  return withRun(temporal, taskId, async (run) => {
    await run.cancel()
    return 'requested' as const
  })
}

/** Limit for the requests of `createCancelWorkflows` that are under way. */
const cancelsMax = 32

/**
 * Creates the function that asks workflows of cancelled tasks to end, without letting the caller wait. While
 * 32 requests are under way, further runs are left alone. They end when they continue the next time.
 */
export function createCancelWorkflows(temporal: Temporal): (taskId: string) => void {
  let underWay = 0
  return (taskId) => {
    if (underWay >= cancelsMax) return
    underWay += 1
    void cancelWorkflow(temporal, taskId)
      .catch(() => {})
      .finally(() => {
        underWay -= 1
      })
  }
}

const historyTimeoutMs = 5_000

/**
 * Returns the history of a task's newest run in Temporal's JSON. Temporal's UI and `replayHistories` can read
 * this format. Returns `undefined` when Temporal has no run of the task. Throws when Temporal does not
 * answer.
 */
export async function fetchHistory(
  { client, withDeadline }: Temporal,
  taskId: string,
): Promise<string | undefined> {
  try {
    const run = client.workflow.getHandle(workflowIdOf(taskId))
    return historyToJSON(await withDeadline(historyTimeoutMs, () => run.fetchHistory()))
  } catch (error) {
    if (grpcReason(error) === 'NOT_FOUND') return undefined
    throw error
  }
}
