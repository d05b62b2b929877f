import type { BlobStore } from '../../domain/ports/blobStore.ts'
import type { ReconcileStore } from '../../domain/ports/reconcileStore.ts'
import type { ReconcileStep } from './reconciler.ts'
import { inParallel } from './reconciler.ts'

const batchMax = 100
const parallel = 8
/** Of blobs that could not be deleted: others come first. */
const retryMs = 5 * 60_000

/** Deletes blobs by row, never by looking around in the store (design, lifetimes): expired, staged, dead. */
export function createSweepStep(deps: {
  readonly store: Pick<ReconcileStore, 'takeUploads' | 'forgetUploads'>
  readonly blobs: Pick<BlobStore, 'deletePrefix'>
}): ReconcileStep {
  return {
    name: 'sweep',
    everyMs: 2_000,
    run: async (signal, tell) => {
      let taken = 0
      do {
        const uploadIds = await deps.store.takeUploads(batchMax, retryMs)
        taken = uploadIds.length
        let swept = 0
        const sweeping = inParallel(uploadIds, { parallel, signal }, async (uploadId) => {
          await deps.blobs.deletePrefix(uploadId)
          await deps.store.forgetUploads([uploadId])
          swept += 1
        })
        await sweeping.finally(() => {
          if (swept > 0) tell({ found: 'swept', count: swept })
        })
      } while (taken === batchMax && !signal.aborted)
    },
  }
}

const purgeBatchMax = 200

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
        purged = await deps.store.purgeTasks(purgeBatchMax)
        if (purged > 0) tell({ found: 'purged', count: purged })
      } while (purged === purgeBatchMax && !signal.aborted)
    },
  }
}
