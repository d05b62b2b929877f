import { assertNever } from '../../domain/assertNever.ts'
import type { TaskFailure } from '../../domain/failure.ts'
import type { AttemptStore } from '../../domain/ports/attemptStore.ts'
import type { Backoff, OverdueTask, ReconcileStore } from '../../domain/ports/reconcileStore.ts'
import type { KilledRun, RunReport, StartTask } from '../../domain/ports/taskRuns.ts'
import type { Finding, ReconcileStep } from './reconciler.ts'
import { inParallel } from './reconciler.ts'

export type CheckDeps = {
  readonly store: Pick<ReconcileStore, 'overdueTasks' | 'postponeChecks'>
  readonly reportRun: (taskId: string) => Promise<RunReport>
  readonly startTask: StartTask
  readonly cancelTask: AttemptStore['cancelTask']
  readonly settleStored: (taskId: string) => Promise<boolean>
  readonly failTask: AttemptStore['failTask']
  /** Of one task that could not be checked now: the blob store is away, say. */
  readonly onError: (taskId: string, error: unknown) => void
}

const batchMax = 100
const parallel = 8
/** A task that waits its turn for half an hour is asked after seven times. */
const runningBackoff: Backoff = { firstMs: 15_000, mostMs: 600_000 }
const unreachableBackoff: Backoff = { firstMs: 5_000, mostMs: 30_000 }
/** While a call goes on whose run is gone: it may end at any time, long before its lease. */
const leaseBackoff: Backoff = { firstMs: 5_000, mostMs: 10_000 }
const failedBackoff: Backoff = { firstMs: 2_000, mostMs: 60_000 }

/** The run is over and recorded nothing. `failTask` adds whether a call may have done work. */
const lostRun: TaskFailure = { code: 'upstream_error', cause: 'unknown', workPossible: false }

type Tell = (finding: Omit<Finding, 'step'>) => void

/** Asks Temporal about live rows without a sign of life, and mends what is broken (design 1.12). */
export function createCheckStep(deps: CheckDeps): ReconcileStep {
  return {
    name: 'check',
    everyMs: 1_000,
    run: async (signal, tell) => {
      const overdue = await deps.store.overdueTasks(batchMax)
      await inParallel(overdue, { parallel, signal }, async (task) => {
        const { taskId } = task.start
        try {
          await check(deps, task, tell)
        } catch (error) {
          // One that cannot be checked now must not stand before the others.
          deps.onError(taskId, error)
          await deps.store.postponeChecks([taskId], failedBackoff)
        }
      })
    },
  }
}

async function check(deps: CheckDeps, task: OverdueTask, tell: Tell): Promise<void> {
  const { taskId } = task.start
  const report = await deps.reportRun(taskId)
  switch (report) {
    case 'running':
      return deps.store.postponeChecks([taskId], runningBackoff)
    case 'unreachable':
      tell({ found: 'unreachable', count: 1, taskId })
      return deps.store.postponeChecks([taskId], unreachableBackoff)
    case 'missing':
      return startAgain(deps, task, tell)
    case 'completed':
    case 'failed':
      return endWithoutRun(deps, task, { killed: false }, tell)
    case 'cancelled':
    case 'terminated':
      return endWithoutRun(deps, task, { killed: true }, tell)
    default:
      return assertNever(report)
  }
}

/** Temporal has lost its data, or forgot: the task is still promised. */
async function startAgain(deps: CheckDeps, task: OverdueTask, tell: Tell): Promise<void> {
  const { taskId } = task.start
  if (task.leaseLeftMs > 0) return awaitLease(deps, task)
  const result = await deps.startTask(task.start)
  if (result.kind === 'failed') return deps.store.postponeChecks([taskId], unreachableBackoff)
  tell({ found: 'restarted', count: 1, taskId })
  return deps.store.postponeChecks([taskId], runningBackoff)
}

/**
 * The run is closed and the row is live: it was terminated, or its end was not recorded. A worker may
 * still be at the call, paid for already: it or its lease is waited for. Then a stored answer is settled; a
 * task whose run was killed before any possible work is cancelled; any other fails.
 */
async function endWithoutRun(
  deps: CheckDeps,
  task: OverdueTask,
  run: { readonly killed: boolean },
  tell: Tell,
): Promise<void> {
  const { taskId } = task.start
  if (await deps.settleStored(taskId)) return tell({ found: 'settled', count: 1, taskId })
  if (task.leaseLeftMs > 0) return awaitLease(deps, task)
  if (run.killed && (await deps.cancelTask(taskId))) {
    return tell({ found: 'cancelled', count: 1, taskId })
  }
  if (await deps.failTask(taskId, lostRun)) tell({ found: 'failed', count: 1, taskId })
}

async function awaitLease(deps: CheckDeps, task: OverdueTask): Promise<void> {
  const { start, leaseLeftMs } = task
  await deps.store.postponeChecks([start.taskId], {
    firstMs: Math.min(leaseBackoff.firstMs, leaseLeftMs),
    mostMs: Math.min(leaseBackoff.mostMs, leaseLeftMs),
  })
}

/** Runs remembered as told, so that one that must be waited for is not hastened again and again. */
const rememberedMax = 5_000

/**
 * Hears of runs that somebody terminated, so that their money comes back in seconds and not at the next
 * look. Only a hint: without it the checks find them.
 */
export function createKilledStep(deps: {
  readonly store: Pick<ReconcileStore, 'makeChecksDue'>
  readonly killedRuns: () => Promise<readonly KilledRun[]>
}): ReconcileStep {
  const remembered = new Set<string>()
  return {
    name: 'killed',
    everyMs: 3_000,
    run: async (_signal, tell) => {
      const runs = (await deps.killedRuns()).filter(({ runId }) => !remembered.has(runId))
      const taskIds = runs.map(({ taskId }) => taskId)
      if (taskIds.length > 0) {
        await deps.store.makeChecksDue(taskIds)
        tell({ found: 'hastened', count: taskIds.length })
      }
      for (const { runId } of runs) remembered.add(runId)
      for (const runId of remembered) {
        if (remembered.size <= rememberedMax) break
        remembered.delete(runId)
      }
    },
  }
}
