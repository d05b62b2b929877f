import type { DeliveryStore, WakeRun } from '../../domain/ports/webhookStore.ts'
import { inParallel } from './inParallel.ts'
import type { ReconcileStep } from './reconciler.ts'

const batchMax = 200
const parallel = 8

/**
 * Creates the step that starts the runs of webhooks that must repeat deliveries and have none: Temporal was
 * unreachable, its data is lost, or an operator ended the run. Also deletes deleted webhooks with their last
 * delivery.
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
