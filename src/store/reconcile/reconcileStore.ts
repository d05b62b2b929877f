import type { Pool } from 'pg'
import type { Family } from '../../domain/models/models.ts'
import { claimToCheck, claimUnstarted, makeDue, markStarted } from './claims.ts'
import { purgeTasks } from './purgeTasks.ts'
import { dropExcessInputs, forgetRequests, forgetUploads, takeUploads } from './uploads.ts'

export type ReconcileStore = ReturnType<typeof createReconcileStore>

/** Creates the statements by which the reconciler finds and claims its work. */
export function createReconcileStore(pool: Pool) {
  return {
    claimUnstarted: (family: Family, limit: number) => claimUnstarted(pool, family, limit),
    claimToCheck: (limit: number) => claimToCheck(pool, limit),
    markStarted: (taskId: string) => markStarted(pool, taskId),
    makeDue: (taskId: string, delayMs?: number) => makeDue(pool, taskId, delayMs),
    takeUploads: (limit: number, retryMs: number) => takeUploads(pool, limit, retryMs),
    forgetUploads: (uploadIds: readonly string[]) => forgetUploads(pool, uploadIds),
    forgetRequests: (limit: number) => forgetRequests(pool, limit),
    dropExcessInputs: (bytesMax: number) => dropExcessInputs(pool, bytesMax),
    purgeTasks: (limit: number) => purgeTasks(pool, limit),
  }
}
