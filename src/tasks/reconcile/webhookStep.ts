import type { DeliveryStore, WakeRun } from '../../domain/ports/webhookStore.ts'
import { inParallel } from './inParallel.ts'
import type { ReconcileStep } from './reconciler.ts'

const batchMax = 200
const parallel = 8

/**
 * Creates the step that starts a run for each webhook that has deliveries to repeat and no run. A run is missing
 * when Temporal was unreachable, when its data is lost, or when an operator ended the run. A run that could not be
 * woken is woken. The step also deletes the row of each deleted webhook that has no delivery left.
 */
export function createWebhookStep(deps: {
  readonly store: Pick<DeliveryStore, 'webhooksWithoutRun' | 'forgetWebhooks'>
  readonly wakeRun: WakeRun
}): ReconcileStep {
  return {
    name: 'webhook',
    everyMs: 10_000,
    run: async (signal, report) => {
      await deps.store.forgetWebhooks()
      const missing = await deps.store.webhooksWithoutRun(batchMax)
      let woken = 0
      await inParallel(missing, { parallel, signal }, async (run) => {
        if (await deps.wakeRun(run)) woken += 1
      })
      if (woken > 0) report({ found: 'webhook_run_started', count: woken })
    },
  }
}

/**
 * Creates the step that ends deliveries of disabled and deleted webhooks that are still pending: there were very many,
 * or the process that disabled the webhook was lost.
 */
export function createEndDeliveriesStep(deps: {
  readonly store: Pick<DeliveryStore, 'endedWithPending' | 'endSomePending'>
}): ReconcileStep {
  return {
    name: 'end_deliveries',
    everyMs: 10_000,
    run: async (signal) => {
      const left = await deps.store.endedWithPending(batchMax)
      await inParallel(left, { parallel: 1, signal }, async (webhookId) => {
        while (!signal.aborted && (await deps.store.endSomePending(webhookId)));
      })
    },
  }
}
