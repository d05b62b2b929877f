import type { Pool } from 'pg'
import type { ReconcileStore } from '../domain/reconcileStore.ts'
import { createForgetUploads } from './forgetUploads.ts'
import { createHastenChecks } from './hastenChecks.ts'
import { createMarkStarted } from './markStarted.ts'
import { createOverdueTasks } from './overdueTasks.ts'
import { createPastEndTasks } from './pastEndTasks.ts'
import { createPostponeChecks } from './postponeChecks.ts'
import { createPurgeTasks } from './purgeTasks.ts'
import { createTakeUploads } from './takeUploads.ts'
import { createUnstartedTasks } from './unstartedTasks.ts'

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
