import { assertNever } from '../../domain/assertNever.ts'
import type { TaskFailure } from '../../domain/failure.ts'
import type { AttemptStore } from '../../domain/ports/attemptStore.ts'
import type { Backoff, OverdueTask, ReconcileStore } from '../../domain/ports/reconcileStore.ts'
import type { TerminatedRun, RunReport, StartTask } from '../../domain/ports/taskRuns.ts'
import type { PostponeOnErrorDeps } from './inParallel.ts'
import { inParallel, postponeOnError } from './inParallel.ts'
import type { ReconcileStep, ReportFinding } from './reconciler.ts'

export type CheckDeps = PostponeOnErrorDeps & {
  readonly store: Pick<ReconcileStore, 'overdueTasks' | 'postponeChecks'>
  readonly reportRun: (taskId: string) => Promise<RunReport>
  readonly startTask: StartTask
  readonly cancelTask: AttemptStore['cancelTask']
  readonly settleStored: (taskId: string) => Promise<boolean>
  readonly failTask: AttemptStore['failTask']
}

const batchMax = 100
const parallel = 8
/** Doubles at each look: a task that waits for half an hour is looked at seven times. */
const runningBackoff: Backoff = { firstMs: 15_000, mostMs: 600_000 }
const unreachableBackoff: Backoff = { firstMs: 5_000, mostMs: 30_000 }
/** For a call under way whose run is gone. It may end at any time, long before its lease. */
const leaseBackoff: Backoff = { firstMs: 5_000, mostMs: 10_000 }

/** The run ended and recorded nothing. `failTask` sets `workPossible` if a call may have done work. */
const lostRun: TaskFailure = { code: 'upstream_error', cause: 'unknown', workPossible: false }

/** Asks Temporal about live tasks that have shown no activity for too long, and repairs what is broken. */
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
      return deps.store.postponeChecks([taskId], runningBackoff)
    case 'unreachable':
      report({ found: 'unreachable', count: 1, taskId })
      return deps.store.postponeChecks([taskId], unreachableBackoff)
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

/** Temporal has no run of the task, for example because its data is lost. The task is still promised. */
async function startAgain(
  deps: CheckDeps,
  task: OverdueTask,
  report: ReportFinding,
): Promise<void> {
  const { taskId } = task.start
  if (task.leaseLeftMs > 0) return waitForLease(deps, task)
  const result = await deps.startTask(task.start)
  if (result.kind === 'failed') return deps.store.postponeChecks([taskId], unreachableBackoff)
  report({ found: 'restarted', count: 1, taskId })
  return deps.store.postponeChecks([taskId], runningBackoff)
}

/**
 * The run has ended and the task is still live: an operator stopped the run, or the end was not recorded.
 * A stored answer is settled. Otherwise a call under way is waited for until its lease ends, because it is
 * paid for, and longer if its worker is still present. Then a task whose run was stopped is cancelled if
 * no call may have done work; any other task fails.
 */
async function endWithoutRun(
  deps: CheckDeps,
  task: OverdueTask,
  run: { readonly stopped: boolean },
  report: ReportFinding,
): Promise<void> {
  const { taskId } = task.start
  if (await deps.settleStored(taskId)) return report({ found: 'settled', count: 1, taskId })
  if (task.leaseLeftMs > 0) return waitForLease(deps, task)
  if (run.stopped && (await deps.cancelTask(taskId))) {
    return report({ found: 'cancelled', count: 1, taskId })
  }
  const result = await deps.failTask(taskId, lostRun)
  if (result === 'failed') report({ found: 'failed', count: 1, taskId })
  // The call may have begun after this task was listed as overdue.
  if (result === 'call_under_way') await deps.store.postponeChecks([taskId], leaseBackoff)
}

async function waitForLease(deps: CheckDeps, task: OverdueTask): Promise<void> {
  const { start, leaseLeftMs } = task
  await deps.store.postponeChecks([start.taskId], {
    firstMs: Math.min(leaseBackoff.firstMs, leaseLeftMs),
    mostMs: Math.min(leaseBackoff.mostMs, leaseLeftMs),
  })
}

/** Runs that were already reported. A task that waits for its lease must not be made due again each time. */
const reportedRunsMax = 5_000

/**
 * Makes the tasks of terminated runs due for the check at once, so that their holds are released within
 * seconds. Only an acceleration: without it the check finds them at their next look.
 */
export function createTerminatedRunsStep(deps: {
  readonly store: Pick<ReconcileStore, 'makeChecksDue'>
  readonly terminatedRuns: () => Promise<readonly TerminatedRun[]>
}): ReconcileStep {
  const reportedRuns = new Set<string>()
  return {
    name: 'killed',
    everyMs: 3_000,
    run: async (_signal, report) => {
      const runs = (await deps.terminatedRuns()).filter(({ runId }) => !reportedRuns.has(runId))
      const taskIds = runs.map(({ taskId }) => taskId)
      if (taskIds.length > 0) {
        await deps.store.makeChecksDue(taskIds)
        report({ found: 'hastened', count: taskIds.length })
      }
      for (const { runId } of runs) reportedRuns.add(runId)
      // A set keeps insertion order: the oldest runs go first.
      for (const runId of reportedRuns) {
        if (reportedRuns.size <= reportedRunsMax) break
        reportedRuns.delete(runId)
      }
    },
  }
}
