import type { ReconcileStore } from '../../domain/ports/reconcileStore.ts'
import type { ReconcileStep } from './reconciler.ts'

/**
 * Creates the step that keeps the gate's count of open attempts short. Without it, the count would read every
 * attempt that was closed while a long snapshot is open.
 */
export function createCountStep(deps: {
  readonly store: Pick<ReconcileStore, 'moveOpenSince'>
}): ReconcileStep {
  return { name: 'count', everyMs: 5_000, run: () => deps.store.moveOpenSince() }
}
