import type { ReconcileStore } from '../../domain/ports/reconcileStore.ts'
import type { ReconcileStep } from './reconciler.ts'

/**
 * Creates the step that keeps the gate's count of open attempts short: it moves the time from which the gate counts.
 * Without this step, the count would also read closed attempts: their index entries stay while any snapshot is open,
 * for example of `pg_dump`.
 */
export function createCountStep(deps: {
  readonly store: Pick<ReconcileStore, 'moveOpenSince'>
}): ReconcileStep {
  return { name: 'count', everyMs: 5_000, run: () => deps.store.moveOpenSince() }
}
