import type { Pool } from 'pg'
import type { ReconcileStore } from '../domain/ports/reconcileStore.ts'
import { createForgetUploads, createPurgeTasks, createTakeUploads } from './reconcile/uploads.ts'
import {
  createHastenChecks,
  createMarkStarted,
  createPostponeChecks,
} from './reconcile/nextChecks.ts'
import {
  createOverdueTasks,
  createPastEndTasks,
  createUnstartedTasks,
} from './reconcile/dueTasks.ts'

/** The reconciler's statements over one pool. */
export function createReconcileStore(deps: { readonly pool: Pool }): ReconcileStore {
  return {
    unstartedTasks: createUnstartedTasks(deps),
    markStarted: createMarkStarted(deps),
    overdueTasks: createOverdueTasks(deps),
    pastEndTasks: createPastEndTasks(deps),
    postponeChecks: createPostponeChecks(deps),
    hastenChecks: createHastenChecks(deps),
    takeUploads: createTakeUploads(deps),
    forgetUploads: createForgetUploads(deps),
    purgeTasks: createPurgeTasks(deps),
  }
}
