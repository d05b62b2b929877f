import type { ReconcileStore } from '../../domain/ports/reconcileStore.ts'
import type { TerminatedRun } from '../../domain/ports/taskRuns.ts'
import type { ReconcileStep } from './reconciler.ts'

/**
 * Limit for the number of remembered runs. A run is reported once only: if it were reported again, a task
 * with a call under way would be checked every few seconds.
 */
const reportedRunsMax = 5_000

/**
 * Creates the step that finds terminated runs and makes their tasks due for a check at once. So the holds of
 * these tasks are released within seconds. Without this step, the check step would find these tasks too, but only
 * when their next check is due.
 */
export function createTerminatedRunsStep(deps: {
  readonly store: Pick<ReconcileStore, 'makeChecksDue'>
  readonly terminatedRuns: () => Promise<readonly TerminatedRun[]>
}): ReconcileStep {
  const reportedRuns = new Set<string>()
  return {
    name: 'terminated',
    everyMs: 3_000,
    run: async (_signal, report) => {
      const runs = (await deps.terminatedRuns()).filter(({ runId }) => !reportedRuns.has(runId))
      const taskIds = runs.map(({ taskId }) => taskId)
      if (taskIds.length > 0) {
        await deps.store.makeChecksDue(taskIds)
        report({ found: 'made_due', count: taskIds.length })
      }
      for (const { runId } of runs) reportedRuns.add(runId)
      // A set iterates in the order of insertion, so the oldest runs are deleted first.
      for (const runId of reportedRuns) {
        if (reportedRuns.size <= reportedRunsMax) break
        reportedRuns.delete(runId)
      }
    },
  }
}
