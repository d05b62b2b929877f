import type { TryDelivery } from './tryDelivery.ts'
import type { DeliveryStore } from '../../domain/ports/webhookStore.ts'
import { inFlightMax, tryTimeoutMs } from '../../domain/webhooks/delivery.ts'

type RetryDueDeps = {
  readonly store: Pick<DeliveryStore, 'claimDelivery' | 'promiseLook'>
  readonly tryDelivery: TryDelivery
  /** Returns milliseconds of a clock that never goes back. */
  readonly nowMs: () => number
}

/**
 * Limit for starting tries in one look. Then the other webhooks that wait for a slot of the worker have their
 * turn.
 */
const lookMsMax = 20_000
/** By this time the look is over, or its worker is lost. */
export const lookTimeoutMs = lookMsMax + 2 * tryTimeoutMs

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
