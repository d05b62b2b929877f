import type { KilledRun } from '../domain/execution.ts'
import type { ReconcileStore } from '../domain/reconcileStore.ts'
import type { ReconcileStep } from './reconcileStep.ts'

/** Runs remembered as told, so that one that must be waited for is not hastened again and again. */
const rememberedMax = 5_000

/**
 * Hears of runs that somebody terminated, so that their money comes back in seconds and not at the next
 * look. Only a hint: without it the checks find them.
 */
export function createKilledStep(deps: {
  readonly store: Pick<ReconcileStore, 'hastenChecks'>
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
        await deps.store.hastenChecks(taskIds)
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
