import type { DeliveryStore } from '../../store/webhooks/webhookStore.ts'
import type { ReconcileStep } from './reconciler.ts'

/**
 * Creates the step that ends deliveries of disabled and deleted webhooks that are still pending: there were very many,
 * the process that disabled the webhook was lost, or a task ended at the same moment. Then it deletes the row of each
 * deleted webhook that has no delivery left.
 */
export function createWebhookStep(deps: {
  readonly store: Pick<DeliveryStore, 'endPending' | 'forgetWebhooks'>
}): ReconcileStep {
  return {
    name: 'webhook',
    everyMs: 10_000,
    run: async (signal) => {
      while (!signal.aborted && (await deps.store.endPending()) > 0);
      await deps.store.forgetWebhooks()
    },
  }
}
