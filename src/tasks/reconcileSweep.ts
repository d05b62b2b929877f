import type { BlobStore } from '../domain/blobStore.ts'
import type { ReconcileStore } from '../domain/reconcileStore.ts'
import { inParallel } from './inParallel.ts'
import type { ReconcileStep } from './reconcileStep.ts'

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
