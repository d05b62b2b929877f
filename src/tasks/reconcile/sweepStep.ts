import { keptInputBytesMax } from '../../domain/limits.ts'
import type { BlobStore } from '../../domain/ports/blobStore.ts'
import type { ReconcileStore } from '../../store/reconcile/reconcileStore.ts'
import type { ReconcileStep } from './reconciler.ts'
import { inParallel } from './reconciler.ts'

const batchMax = 100
const parallel = 8
/**
 * Pause before the sweep tries an upload again whose blobs it could not delete. In the meantime it sweeps
 * other uploads.
 */
const retryMs = 5 * 60_000

/**
 * Creates the step that deletes the blobs of uploads that are no longer needed: expired answers, inputs of
 * finished tasks, and uploads that no task has taken over. The step reads the table `upload` and never lists
 * the blob store. It also deletes the requests of failed tasks that can no longer be retried.
 */
export function createSweepStep(deps: {
  readonly store: Pick<ReconcileStore, 'takeUploads' | 'forgetUploads' | 'forgetRequests'>
  readonly blobs: Pick<BlobStore, 'deletePrefix'>
}): ReconcileStep {
  return {
    name: 'sweep',
    everyMs: 2_000,
    run: async (signal, report) => {
      // Requests are deleted first, because that works without the blob store. A prompt may have megabytes, and the record
      // of its task is kept for days.
      await inBatches(signal, batchMax, async (limit) => {
        const forgotten = await deps.store.forgetRequests(limit)
        if (forgotten > 0) report({ found: 'forgotten', count: forgotten })
        return forgotten
      })
      await inBatches(signal, batchMax, async (limit) => {
        const uploadIds = await deps.store.takeUploads(limit, retryMs)
        let swept = 0
        const sweeping = inParallel(uploadIds, { parallel, signal }, async (uploadId) => {
          await deps.blobs.deletePrefix(uploadId)
          await deps.store.forgetUploads([uploadId])
          swept += 1
        })
        await sweeping.finally(() => {
          if (swept > 0) report({ found: 'swept', count: swept })
        })
        return uploadIds.length
      })
    },
  }
}

/** Repeats the work of a step as long as it finds full batches. `work` returns how many rows it found. */
async function inBatches(
  signal: AbortSignal,
  limit: number,
  work: (limit: number) => Promise<number>,
): Promise<void> {
  while ((await work(limit)) === limit && !signal.aborted);
}

/**
 * Creates the step that limits how many bytes of requests and inputs of failed tasks are kept for one account. The
 * oldest ones beyond the limit are deleted with the next sweep, and a retry of their tasks is refused from then on.
 */
export function createExcessInputsStep(deps: {
  readonly store: Pick<ReconcileStore, 'dropExcessInputs'>
}): ReconcileStep {
  return {
    name: 'excess',
    everyMs: 30_000,
    run: async (_signal, report) => {
      const dropped = await deps.store.dropExcessInputs(keptInputBytesMax)
      if (dropped > 0) report({ found: 'excess', count: dropped })
    },
  }
}

const purgeBatchMax = 200

/**
 * Creates the step that purges tasks: it deletes the records whose life is over. Their idempotency keys become free
 * again. Their ledger rows stay.
 */
export function createPurgeStep(deps: {
  readonly store: Pick<ReconcileStore, 'purgeTasks'>
}): ReconcileStep {
  return {
    name: 'purge',
    everyMs: 5_000,
    run: async (signal, report) => {
      await inBatches(signal, purgeBatchMax, async (limit) => {
        const purged = await deps.store.purgeTasks(limit)
        if (purged > 0) report({ found: 'purged', count: purged })
        return purged
      })
    },
  }
}
