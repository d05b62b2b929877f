import { WorkflowNotFoundError } from '@temporalio/client'
import { assertNever } from '../domain/assertNever.ts'
import type { RunReport } from '../domain/execution.ts'
import { workflowIdOf } from '../domain/ids.ts'
import type { Temporal } from './connect.ts'
import { grpcReason } from './grpcReason.ts'

const timeoutMs = 2_000

/** How the newest run of a task stands, for the reconciler. Needs no worker; never throws for Temporal. */
export function createReportRun(temporal: Temporal) {
  return async (taskId: string): Promise<RunReport> => {
    try {
      const handle = temporal.client.workflow.getHandle(workflowIdOf(taskId))
      const { status } = await temporal.within(timeoutMs, () => handle.describe())
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
