import type { TryDelivery } from './tryDelivery.ts'
import type { DeliveryStore } from '../../domain/ports/webhookStore.ts'
import { inFlightMax, lookMsMax, lookTimeoutMs } from '../../domain/webhooks/delivery.ts'

type RetryDueDeps = {
  readonly store: Pick<DeliveryStore, 'claimDelivery' | 'promiseLook'>
  readonly tryDelivery: TryDelivery
  /** Returns milliseconds of a clock that never goes back. */
  readonly nowMs: () => number
}

/**
 * Creates the function that tries what is due of one webhook, as its run asks for it. Returns the milliseconds
 * until the next look, or `undefined` when no later try is pending.
 */
export function createRetryDue({ store, tryDelivery, nowMs }: RetryDueDeps) {
  return async (webhookId: string, stopping: AbortSignal): Promise<number | undefined> => {
    await store.promiseLook(webhookId, lookTimeoutMs)
    const endsAtMs = nowMs() + lookMsMax
    const lane = async () => {
      while (nowMs() < endsAtMs && !stopping.aborted) {
        const claimed = await store.claimDelivery(webhookId, 'again')
        if (claimed === undefined) return
        await tryDelivery(claimed)
      }
    }
    await Promise.all(Array.from({ length: inFlightMax }, lane))
    return store.promiseLook(webhookId)
  }
}

export type RetryDue = ReturnType<typeof createRetryDue>
