import { assertNever } from '../../domain/assertNever.ts'
import type { TaskFailure } from '../../domain/failure.ts'
import type { OverdueTask, ReconcileStore } from '../../domain/ports/reconcileStore.ts'
import type { RunReport, StartTask } from '../../domain/ports/taskRuns.ts'
import type { AttemptStore } from '../../store/attempts/attemptStore.ts'
import type { FailResult } from '../../store/tasks/ends.ts'
import type { PostponeOnErrorDeps } from './inParallel.ts'
import { inParallel, postponeOnError } from './inParallel.ts'
import type { ReconcileStep, ReportFinding } from './reconciler.ts'

export type CheckDeps = PostponeOnErrorDeps & {
  readonly store: Pick<ReconcileStore, 'overdueTasks' | 'postponeChecks'>
  readonly reportRun: (taskId: string) => Promise<RunReport>
  readonly startTask: StartTask
  readonly cancelTask: AttemptStore['cancelTask']
  readonly settleOrFail: (taskId: string, failure: TaskFailure) => Promise<FailResult>
}

const batchMax = 100
const parallel = 8

/**
 * The failure of a task whose run ended without recording an end. `failTask` sets `workPossible` to true if a
 * call may have done work.
 */
const lostRun: TaskFailure = { code: 'upstream_error', cause: 'unknown', workPossible: false }

/**
 * Creates the step that asks Temporal about live tasks that no worker has updated for too long. The step then
 * repairs what is broken.
 */
export function createCheckStep(deps: CheckDeps): ReconcileStep {
  return {
    name: 'check',
    everyMs: 1_000,
    run: async (signal, report) => {
      const overdue = await deps.store.overdueTasks(batchMax)
      await inParallel(overdue, { parallel, signal }, (task) =>
        postponeOnError(deps, task.start.taskId, () => check(deps, task, report)),
      )
    },
  }
}

async function check(deps: CheckDeps, task: OverdueTask, report: ReportFinding): Promise<void> {
  const { taskId } = task.start
  const run = await deps.reportRun(taskId)
  switch (run) {
    case 'running':
      return deps.store.postponeChecks([taskId], 'running')
    case 'unreachable':
      report({ found: 'unreachable', count: 1, taskId })
      return deps.store.postponeChecks([taskId], 'temporal_unreachable')
    case 'missing':
      return startAgain(deps, task, report)
    case 'completed':
    case 'failed':
      return endWithoutRun(deps, task, { stopped: false }, report)
    case 'cancelled':
    case 'terminated':
      return endWithoutRun(deps, task, { stopped: true }, report)
    default:
      return assertNever(run)
  }
}

/**
 * Starts the workflow again when Temporal has no run of an accepted task, for example because Temporal's data
 * is lost. While a call of the task is under way, waits for the call.
 */
async function startAgain(
  deps: CheckDeps,
  task: OverdueTask,
  report: ReportFinding,
): Promise<void> {
  const { taskId } = task.start
  if (task.callUnderWay) return deps.store.postponeChecks([taskId], 'call_under_way')
  const result = await deps.startTask(task.start)
  if (result.kind === 'failed') return deps.store.postponeChecks([taskId], 'temporal_unreachable')
  report({ found: 'restarted', count: 1, taskId })
  return deps.store.postponeChecks([taskId], 'running')
}

/**
 * Ends a live task whose run has ended. Either an operator stopped the run, or the run could not record the
 * task's end.
 *
 * If an answer is stored, it is settled. If a call is under way, the reconciler waits for it, because the
 * call is paid for. Otherwise the task ends without an image: as cancelled when an operator stopped the run and
 * no call may have done work, and as failed in every other case.
 */
async function endWithoutRun(
  deps: CheckDeps,
  task: OverdueTask,
  run: { readonly stopped: boolean },
  report: ReportFinding,
): Promise<void> {
  const { taskId } = task.start
  if (run.stopped && (await deps.cancelTask(taskId, 'asked')) === 'cancelled') {
    return report({ found: 'cancelled', count: 1, taskId })
  }
  const result = await deps.settleOrFail(taskId, lostRun)
  if (result === 'succeeded') report({ found: 'settled', count: 1, taskId })
  if (result === 'failed') report({ found: 'failed', count: 1, taskId })
  // The call may have begun after this task was listed as overdue.
  if (result === 'call_under_way') await deps.store.postponeChecks([taskId], 'call_under_way')
}
