import type { ReconcileStore } from '../domain/reconcileStore.ts'
import type { ReconcileStep } from './reconcileStep.ts'

const batchMax = 200

/** Deletes records past their life; their keys are free again, their ledger rows stay. */
export function createPurgeStep(deps: {
  readonly store: Pick<ReconcileStore, 'purgeTasks'>
}): ReconcileStep {
  return {
    name: 'purge',
    everyMs: 5_000,
    run: async (signal, tell) => {
      let purged = 0
      do {
        purged = await deps.store.purgeTasks(batchMax)
        if (purged > 0) tell({ found: 'purged', count: purged })
      } while (purged === batchMax && !signal.aborted)
    },
  }
}
