import { WorkflowNotFoundError } from '@temporalio/client'
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import type { Temporal } from './connect.ts'
import { assertNever } from '../domain/assertNever.ts'
import { workflowIdOf } from '../domain/ids.ts'
import type { RunReport } from '../domain/ports/taskRuns.ts'
import { grpcReason } from './grpcReason.ts'

const runTimeoutMs = 2_000

/**
 * Returns the state of a task's newest run. The Temporal server knows this state, so no worker needs to be
 * running. When Temporal does not answer, returns `unreachable` and does not throw.
 */
export async function reportRun(temporal: Temporal, taskId: string): Promise<RunReport> {
  try {
    const handle = temporal.client.workflow.getHandle(workflowIdOf(taskId))
    const { status } = await temporal.withDeadline(runTimeoutMs, () => handle.describe())
    return runReport(status.name)
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'missing'
    grpcReason(error)
    return 'unreachable'
  }
}

type StatusName = Awaited<
  ReturnType<ReturnType<Temporal['client']['workflow']['getHandle']>['describe']>
>['status']['name']

function runReport(name: StatusName): RunReport {
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
 * Asks the workflow of a cancelled task to end now. Without this request it would end when it continues the
 * next time. The task is already cancelled in PostgreSQL, so nothing depends on this request. Returns
 * `missing` also when the run has already ended.
 */
export async function cancelWorkflow(
  temporal: Temporal,
  taskId: string,
): Promise<'requested' | 'missing' | 'unreachable'> {
  try {
    const handle = temporal.client.workflow.getHandle(workflowIdOf(taskId))
    await temporal.withDeadline(runTimeoutMs, () => handle.cancel())
    return 'requested'
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'missing'
    grpcReason(error)
    return 'unreachable'
  }
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
  temporal: Temporal,
  taskId: string,
): Promise<string | undefined> {
  try {
    const handle = temporal.client.workflow.getHandle(workflowIdOf(taskId))
    const history = await temporal.withDeadline(historyTimeoutMs, () => handle.fetchHistory())
    return historyToJSON(history)
  } catch (error) {
    if (grpcReason(error) === 'NOT_FOUND') return undefined
    throw error
  }
}
