import type { WorkflowExecutionStatusName } from '@temporalio/client'
import { WorkflowNotFoundError } from '@temporalio/client'
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import type { Temporal } from './connect.ts'
import { assertNever } from '../domain/assertNever.ts'
import { workflowIdOf } from '../domain/ids.ts'
import { grpcReason } from './grpcReason.ts'

/**
 * The state of a task's newest run. `ended`: its workflow came to an end. `stopped`: an operator stopped it. `unreachable`:
 * Temporal did not answer, so nobody knows the state.
 */
export type RunReport = 'running' | 'ended' | 'stopped' | 'missing' | 'unreachable'

const runTimeoutMs = 2_000

/**
 * Returns the state of a task's newest run. The Temporal server knows this state, so no worker needs to be
 * running. When Temporal does not answer, returns `unreachable` and does not throw.
 */
export async function reportRun(
  { client, withDeadline }: Temporal,
  taskId: string,
): Promise<RunReport> {
  try {
    const run = client.workflow.getHandle(workflowIdOf(taskId))
    return runReport((await withDeadline(runTimeoutMs, () => run.describe())).status.name)
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'missing'
    grpcReason(error)
    return 'unreachable'
  }
}

function runReport(name: WorkflowExecutionStatusName): RunReport {
  switch (name) {
    case 'RUNNING':
    case 'PAUSED':
    case 'CONTINUED_AS_NEW':
      return 'running'
    case 'COMPLETED':
    case 'FAILED':
      return 'ended'
    case 'CANCELLED':
    case 'TERMINATED':
    case 'TIMED_OUT':
      return 'stopped'
    case 'UNSPECIFIED':
    case 'UNKNOWN':
      return 'unreachable'
    default:
      return assertNever(name)
  }
}

/**
 * Asks the workflow of a cancelled task to end now. Without this request it would end when it continues the
 * next time. The task is already cancelled in PostgreSQL, so nothing depends on this request, and it never throws.
 */
export async function cancelWorkflow(
  { client, withDeadline }: Temporal,
  taskId: string,
): Promise<void> {
  const run = client.workflow.getHandle(workflowIdOf(taskId))
  await withDeadline(runTimeoutMs, () => run.cancel()).catch(() => {})
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
