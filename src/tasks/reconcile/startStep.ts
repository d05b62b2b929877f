import type { Pool } from 'pg'
import type { Family } from '../../domain/models/models.ts'
import { families } from '../../domain/models/models.ts'
import type { TaskStart } from '../../domain/tasks/taskStart.ts'
import { claimUnstarted, makeDue, markStarted } from '../../store/tasks/dueTasks.ts'
import type { StartTask } from '../../temporal/startTask.ts'
import { inParallel } from '../inParallel.ts'
import type { DirectRuns } from '../produce/directRuns.ts'
import type { ReconcileStep, ReportFinding } from './reconciler.ts'

const batchMax = 100
const parallel = 16

/**
 * Creates the step that starts the workflows of accepted tasks that have none: Temporal was away, the API had many
 * starts under way or died after its answer, or a synchronous task must go on after its call.
 *
 * While Temporal is away, the step claims as many tasks as this worker has free slots, and the worker carries them out
 * itself. The first of them is tried as a start each time, so the step notices when Temporal is back.
 */
export function createStartStep(deps: {
  readonly pool: Pool
  readonly startTask: StartTask
  readonly direct: Pick<DirectRuns, 'free' | 'take'>
}): ReconcileStep {
  const { pool, direct } = deps
  let away = false

  /** Carries the task out in this process. Without a free slot, the task is due again at once. */
  async function runHere(start: TaskStart, report: ReportFinding): Promise<void> {
    if (!direct.take(start)) return makeDue(pool, start.taskId)
    report({ found: 'taken_over', count: 1, taskId: start.taskId })
  }

  async function startOrRun(start: TaskStart, report: ReportFinding): Promise<void> {
    away = !(await deps.startTask(start))
    report({ found: away ? 'start_failed' : 'started', count: 1, taskId: start.taskId })
    if (away) return runHere(start, report)
    await markStarted(pool, [start.taskId])
  }

  /** Returns whether a full batch was started, so that more tasks are probably due. */
  async function startBatch(
    family: Family,
    signal: AbortSignal,
    report: ReportFinding,
  ): Promise<boolean> {
    const limit = away ? Math.max(1, direct.free(family)) : batchMax
    const claimed = await claimUnstarted(pool, family, limit)
    const [first, ...others] = claimed
    if (first === undefined) return false
    // No task waits until a start has failed, which can take seconds.
    if (away) for (const start of others.splice(0)) await runHere(start, report)
    await startOrRun(first, report)
    await inParallel(others, { parallel, signal }, async (start) => {
      if (away) await runHere(start, report)
      else await startOrRun(start, report)
    })
    return !away && claimed.length === batchMax
  }

  return {
    name: 'start',
    everyMs: 1_000,
    run: async (signal, report) => {
      await inParallel(families, { parallel: families.length, signal }, async (family) => {
        while ((await startBatch(family, signal, report)) && !signal.aborted);
      })
    },
  }
}
