import type { App } from './app.ts'
import { defined } from '../domain/defined.ts'
import type { Execution } from './execution.ts'
import { createDeliveryStore } from '../store/webhooks/webhookStore.ts'
import { createCheckStep } from '../tasks/reconcile/checkStep.ts'
import { createLoseStep } from '../tasks/reconcile/loseStep.ts'
import { createReconciler } from '../tasks/reconcile/reconciler.ts'
import { createStartStep } from '../tasks/reconcile/startStep.ts'
import { createSweepSteps } from '../tasks/reconcile/sweepSteps.ts'
import { reportRun } from '../temporal/runs.ts'

/** Creates the reconciler of one worker process. */
export function createWorkerReconciler(app: App, execution: Execution) {
  const { pool, blobs, temporal, startTask, log, metrics } = app
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
        produceImage,
        attempts,
        onError: (taskId, error) => log.error('task not checked', { taskId, error }),
      }),
      ...createSweepSteps({ store, deliveries: createDeliveryStore(pool), blobs }),
    ],
    onFinding: ({ step, found, count, taskId }) => {
      metrics.finding(found, count)
      log.info(`reconciler: ${found}`, { step, count, ...defined({ taskId }) })
    },
    onStepError: (step, error) => log.warn('reconciler step failed', { step, error }),
  })
}
