import type { Pool } from 'pg'
import { defined } from '../domain/defined.ts'
import type { AttemptStore } from '../domain/ports/attemptStore.ts'
import type { BlobStore } from '../domain/ports/blobStore.ts'
import { createReconcilerLock } from '../store/connection/reconcilerLock.ts'
import { createDeliveryStore } from '../store/webhooks/webhookStore.ts'
import { createReconcileStore } from './stores.ts'
import type { ProduceResult } from '../tasks/produceImage.ts'
import { createCheckStep } from '../tasks/reconcile/checkStep.ts'
import { createTerminatedRunsStep } from '../tasks/reconcile/terminatedRunsStep.ts'
import { createCountStep } from '../tasks/reconcile/countStep.ts'
import { createEndStep } from '../tasks/reconcile/endStep.ts'
import type { Reconciler } from '../tasks/reconcile/reconciler.ts'
import { createReconciler } from '../tasks/reconcile/reconciler.ts'
import { createStartStep } from '../tasks/reconcile/startStep.ts'
import {
  createExcessInputsStep,
  createPurgeStep,
  createSweepStep,
} from '../tasks/reconcile/sweepStep.ts'
import { createWebhookStep } from '../tasks/reconcile/webhookStep.ts'
import { createSettleStored } from '../tasks/settleOrFail.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Temporal } from '../temporal/connect.ts'
import { listTerminatedRuns, reportRun } from '../temporal/runs.ts'
import { createStartTask } from '../temporal/startTask.ts'

const startTimeoutMs = 5_000

/**
 * Creates the reconciler of one worker process. Of all workers, only the one that has the lock runs the
 * steps.
 */
export function createWorkerReconciler(deps: {
  readonly databaseUrl: string
  readonly pool: Pool
  readonly blobs: BlobStore
  readonly attempts: AttemptStore
  readonly produceImage: (input: { readonly taskId: string }) => Promise<ProduceResult>
  readonly temporal: Temporal
  readonly produceTimeoutMs: number
  readonly log: Logger
  readonly onFinding: (found: string, count: number) => void
}): Reconciler {
  const { pool, blobs, attempts, temporal, produceTimeoutMs, log } = deps
  const store = createReconcileStore(pool)
  const startTask = createStartTask({ temporal, startTimeoutMs, produceTimeoutMs })
  const { cancelTask, failTask } = attempts
  const lock = createReconcilerLock({
    databaseUrl: deps.databaseUrl,
    applicationName: 'darkroom-reconciler',
  })
  return createReconciler({
    hold: lock.hold,
    release: lock.release,
    steps: [
      createStartStep({ store, startTask }),
      createCheckStep({
        store,
        startTask,
        reportRun: (taskId) => reportRun(temporal, taskId),
        cancelTask,
        failTask,
        settleStored: createSettleStored({ attempts, blobs }),
        onError: (taskId, error) => log.error('task not checked', { taskId, error }),
      }),
      createTerminatedRunsStep({ store, terminatedRuns: () => listTerminatedRuns(temporal) }),
      createEndStep({
        store,
        produceImage: deps.produceImage,
        failTask,
        onError: (taskId, error) => log.error('end not recorded', { taskId, error }),
      }),
      createExcessInputsStep({ store }),
      createSweepStep({ store, blobs }),
      createPurgeStep({ store }),
      createCountStep({ store }),
      createWebhookStep({ store: createDeliveryStore(pool) }),
    ],
    onFinding: ({ step, found, count, taskId }) => {
      deps.onFinding(found, count)
      log.info(`reconciler: ${found}`, { step, count, ...defined({ taskId }) })
    },
    onStepError: (step, error) => log.warn('reconciler step failed', { step, error }),
  })
}
