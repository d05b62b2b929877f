import type { TryDelivery } from './tryDelivery.ts'
import type { DeliveryStore } from '../../domain/ports/webhookStore.ts'
import { inFlightMax, lookMsMax, lookTimeoutMs } from '../../domain/webhooks/delivery.ts'

type RetryDueDeps = {
  readonly store: Pick<DeliveryStore, 'claimDelivery' | 'planLook'>
  readonly tryDelivery: TryDelivery
  /** Returns milliseconds of a clock that never goes back. */
  readonly nowMs: () => number
}

/**
 * The shortest time until the next look when this look could claim nothing, for example because first tries hold all
 * claims of the webhook. Without this limit, the run would look again and again while the receiver does not answer.
 */
const idleMsMin = 3_000

/**
 * Creates the function that makes one look for the run of a webhook: it repeats the deliveries that are due. Returns
 * the milliseconds until the next look, or `undefined` when no delivery waits for a repetition.
 */
export function createRetryDue({ store, tryDelivery, nowMs }: RetryDueDeps) {
  return async (webhookId: string, stopping: AbortSignal): Promise<number | undefined> => {
    await store.planLook(webhookId, lookTimeoutMs)
    const endsAtMs = nowMs() + lookMsMax
    let tries = 0
    const lane = async () => {
      while (nowMs() < endsAtMs && !stopping.aborted) {
        const claimed = await store.claimDelivery(webhookId, 'again')
        if (claimed === undefined) return
        tries += 1
        await tryDelivery(claimed)
      }
    }
    await Promise.all(Array.from({ length: inFlightMax }, lane))
    const waitMs = await store.planLook(webhookId)
    if (waitMs === undefined || tries > 0) return waitMs
    return Math.max(waitMs, idleMsMin)
  }
}

export type RetryDue = ReturnType<typeof createRetryDue>
