import type { Pool } from 'pg'
import { defined } from '../domain/defined.ts'
import type { BlobStore } from '../domain/ports/blobStore.ts'
import { createDeliveryStore } from '../store/webhooks/webhookStore.ts'
import type { Execution } from './execution.ts'
import { createCheckStep } from '../tasks/reconcile/checkStep.ts'
import { createLoseStep } from '../tasks/reconcile/loseStep.ts'
import type { Reconciler } from '../tasks/reconcile/reconciler.ts'
import { createReconciler } from '../tasks/reconcile/reconciler.ts'
import { createStartStep } from '../tasks/reconcile/startStep.ts'
import {
  createExcessInputsStep,
  createPurgeStep,
  createSweepStep,
} from '../tasks/reconcile/sweepStep.ts'
import { createWebhookStep } from '../tasks/reconcile/webhookStep.ts'
import { createSettleOrFail } from '../tasks/settleOrFail.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Temporal } from '../temporal/connect.ts'
import { reportRun } from '../temporal/runs.ts'
import type { StartTask } from '../temporal/startTask.ts'

/** Creates the reconciler of one worker process. */
export function createWorkerReconciler(deps: {
  readonly pool: Pool
  readonly blobs: BlobStore
  readonly execution: Execution
  readonly startTask: StartTask
  readonly temporal: Temporal
  readonly log: Logger
  readonly onFinding: (found: string, count: number) => void
}): Reconciler {
  const { pool, blobs, startTask, temporal, log } = deps
  const { execution } = deps
  const { attempts, produceImage, direct, processId, beatStore, reconcileStore: store } = execution
  return createReconciler({
    steps: [
      createLoseStep({
        lostCalls: beatStore.lostCalls,
        loseCall: (call) => attempts.loseAttempt({ ...call, judge: processId }),
      }),
      createStartStep({ store, startTask, direct }),
      createCheckStep({
        store,
        startTask,
        reportRun: (taskId) => reportRun(temporal, taskId),
        settleOrFail: createSettleOrFail({ attempts, blobs }),
        produceImage,
        attempts,
        onError: (taskId, error) => log.error('task not checked', { taskId, error }),
      }),
      createExcessInputsStep({ store }),
      createSweepStep({ store, blobs }),
      createPurgeStep({ store }),
      createWebhookStep({ store: createDeliveryStore(pool) }),
    ],
    onFinding: ({ step, found, count, taskId }) => {
      deps.onFinding(found, count)
      log.info(`reconciler: ${found}`, { step, count, ...defined({ taskId }) })
    },
    onStepError: (step, error) => log.warn('reconciler step failed', { step, error }),
  })
}
