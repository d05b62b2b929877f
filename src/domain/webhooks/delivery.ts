import { defined } from '../defined.ts'
import type { TaskView } from '../tasks/task.ts'
import type { SecretVersion, WebhookEvent } from './webhook.ts'

/** One event for one webhook. */
export type Delivery = {
  readonly deliveryId: string
  readonly webhookId: string
  readonly event: WebhookEvent | 'webhook.test'
  /** Absent for `webhook.test`. */
  readonly taskId?: string
  readonly status: 'pending' | 'delivered' | 'failed'
  readonly createdAtMs: number
  /** The last tries, oldest first. */
  readonly attempts: readonly DeliveryAttempt[]
  /** Present while the delivery is pending. */
  readonly nextAttemptAtMs?: number
}

/** One try. `httpStatus` is present when the receiver answered, `error` when it did not. */
export type DeliveryAttempt = {
  readonly atMs: number
  readonly httpStatus?: number
  readonly error?: DeliveryError
}

/** Why a try got no answer. Texts of the receiver and of libraries are never recorded. */
export const deliveryErrors = [
  // The address, or every address of its name, is one that webhooks may not reach.
  'address_not_allowed',
  'name_not_resolved',
  'connection_failed',
  'tls_failed',
  // No answer within `tryTimeoutMs`.
  'timeout',
  // The answer is not HTTP, or its headers are too large.
  'answer_not_read',
] as const
export type DeliveryError = (typeof deliveryErrors)[number]

/** A delivery that this process has claimed for one try, with everything that the try needs. */
export type ClaimedDelivery = {
  readonly deliveryId: string
  readonly webhookId: string
  readonly event: Delivery['event']
  readonly url: string
  /** The current secret. After a rotation, also the previous one as long as it still signs. */
  readonly secrets: readonly SecretVersion[]
  readonly createdAtMs: number
  /** The tries of this round that are over. */
  readonly tries: number
  /** The number of this claim. When a newer claim exists, a success of this one still counts, a failure does not. */
  readonly claim: number
  /** Absent for `webhook.test`. */
  readonly task?: TaskView
}

/** Limit for one try, from the look-up of the name to the headers of the answer. */
export const tryTimeoutMs = 15_000

/** After this time a claimed delivery is due again: its worker is lost. The rest of the time is for the record. */
export const claimMs: number = tryTimeoutMs + 5_000

/** Limit for the tries of one webhook that are under way at the same time, in all processes together. */
export const inFlightMax = 4

/** Returns the JSON of a delivery as its account sees it. Absent fields are left out. */
export function deliveryRecord(delivery: Delivery) {
  const { deliveryId, webhookId, event, taskId, status, createdAtMs, nextAttemptAtMs } = delivery
  return {
    delivery_id: deliveryId,
    webhook_id: webhookId,
    event,
    ...defined({ task_id: taskId }),
    status,
    created_at: new Date(createdAtMs).toISOString(),
    attempts: delivery.attempts.map(({ atMs, httpStatus, error }) => ({
      at: new Date(atMs).toISOString(),
      ...defined({ http_status: httpStatus, error }),
    })),
    ...defined({
      next_attempt_at:
        nextAttemptAtMs === undefined ? undefined : new Date(nextAttemptAtMs).toISOString(),
    }),
  }
}
