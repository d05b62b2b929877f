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
 * The shortest time until the next look after one that could try nothing: first tries have all places of the webhook.
 * Without it, the run would look again at once, for as long as the receiver hangs.
 */
const idleMsMin = 3_000

/**
 * Creates the function that tries what is due of one webhook, as its run asks for it. Returns the milliseconds
 * until the next look, or `undefined` when no later try is pending.
 */
export function createRetryDue({ store, tryDelivery, nowMs }: RetryDueDeps) {
  return async (webhookId: string, stopping: AbortSignal): Promise<number | undefined> => {
    await store.promiseLook(webhookId, lookTimeoutMs)
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
    const waitMs = await store.promiseLook(webhookId)
    if (waitMs === undefined || tries > 0) return waitMs
    return Math.max(waitMs, idleMsMin)
  }
}

export type RetryDue = ReturnType<typeof createRetryDue>
