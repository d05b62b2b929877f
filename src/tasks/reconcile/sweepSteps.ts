import type { Pool } from 'pg'
import { keptInputBytesMax } from '../../domain/limits.ts'
import type { BlobStore } from '../../domain/ports/blobStore.ts'
import { dropExcessInputs, forgetRequests } from '../../store/tasks/keptRequests.ts'
import { purgeTasks } from '../../store/tasks/purgeTasks.ts'
import { forgetUploads, takeUploads } from '../../store/uploads.ts'
import { endPending, forgetWebhooks } from '../../store/webhooks/webhookRows.ts'
import { inParallel } from '../inParallel.ts'
import type { ReconcileStep } from './reconciler.ts'

const batchMax = 100
const purgeBatchMax = 200
const parallel = 8
/**
 * Pause before the sweep tries an upload again whose blobs it could not delete. In the meantime it sweeps
 * other uploads.
 */
const retryMs = 5 * 60_000

/**
 * Creates the steps that delete what is over.
 * - `excess` limits how many bytes of requests and inputs of failed tasks are kept for one account. The oldest ones beyond
 *   the limit are deleted with the next sweep, and a retry of their tasks is refused from then on.
 * - `sweep` deletes the requests of failed tasks that can no longer be retried, and the blobs of uploads that are no
 *   longer needed: expired answers, inputs of finished tasks, and uploads that no task has taken over. It reads the table
 *   `upload` and never lists the blob store.
 * - `purge` deletes the records of tasks whose life is over. Their idempotency keys become free again. Their ledger rows
 *   stay.
 * - `webhook` ends deliveries of disabled and deleted webhooks that are still pending: there were very many, the process
 *   that disabled the webhook was lost, or a task ended at the same moment. Then it deletes the row of each deleted
 *   webhook that has no delivery left.
 */
export function createSweepSteps({
  pool,
  blobs,
}: {
  readonly pool: Pool
  readonly blobs: Pick<BlobStore, 'deletePrefix'>
}): readonly ReconcileStep[] {
  const excess: ReconcileStep['run'] = async (_signal, report) => {
    report({ found: 'excess', count: await dropExcessInputs(pool, keptInputBytesMax) })
  }
  const sweep: ReconcileStep['run'] = async (signal, report) => {
    // Requests are deleted first, because that works without the blob store. A prompt may have megabytes, and the record
    // of its task is kept for days.
    await inBatches(signal, batchMax, async (limit) => {
      const forgotten = await forgetRequests(pool, limit)
      report({ found: 'forgotten', count: forgotten })
      return forgotten
    })
    await inBatches(signal, batchMax, async (limit) => {
      const uploadIds = await takeUploads(pool, limit, retryMs)
      const deleted: string[] = []
      try {
        await inParallel(uploadIds, { parallel, signal }, async (uploadId) => {
          await blobs.deletePrefix(uploadId)
          deleted.push(uploadId)
        })
      } finally {
        if (deleted.length > 0) await forgetUploads(pool, deleted)
        report({ found: 'swept', count: deleted.length })
      }
      return uploadIds.length
    })
  }
  const purge: ReconcileStep['run'] = async (signal, report) => {
    await inBatches(signal, purgeBatchMax, async (limit) => {
      const purged = await purgeTasks(pool, limit)
      report({ found: 'purged', count: purged })
      return purged
    })
  }
  const webhook: ReconcileStep['run'] = async (signal) => {
    while (!signal.aborted && (await endPending(pool)) > 0);
    await forgetWebhooks(pool)
  }
  return [
    { name: 'excess', everyMs: 30_000, run: excess },
    { name: 'sweep', everyMs: 2_000, run: sweep },
    { name: 'purge', everyMs: 5_000, run: purge },
    { name: 'webhook', everyMs: 10_000, run: webhook },
  ]
}

/** Repeats the work of a step as long as it finds full batches. `work` returns how many rows it found. */
async function inBatches(
  signal: AbortSignal,
  limit: number,
  work: (limit: number) => Promise<number>,
): Promise<void> {
  while ((await work(limit)) === limit && !signal.aborted);
}
