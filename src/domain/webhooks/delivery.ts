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
export type DeliveryError =
  /** The address, or every address of its name, is one that webhooks may not reach. */
  | 'address_not_allowed'
  | 'name_not_resolved'
  | 'connection_failed'
  | 'tls_failed'
  /** No answer within `tryTimeoutMs`. */
  | 'timeout'
  /** The answer is not HTTP, or its headers are too large. */
  | 'answer_not_read'

/** A delivery that this process has claimed for one try, with everything that the try needs. */
export type ClaimedDelivery = {
  readonly deliveryId: string
  readonly webhookId: string
  readonly event: Delivery['event']
  readonly url: string
  /** The current secret, and the one before while it signs too. */
  readonly secrets: readonly SecretVersion[]
  readonly createdAtMs: number
  /** The tries of this round that are over. */
  readonly tries: number
  /** The number of this claim. The outcome of an older claim is not recorded as a failure. */
  readonly claim: number
  /** Absent for `webhook.test`. */
  readonly task?: TaskView
}

/** What follows from a try. */
export type Verdict =
  | { readonly kind: 'delivered' }
  /** The receiver answered 410: the webhook is disabled. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'retry'; readonly waitMs: number }
  | { readonly kind: 'given_up' }

/** Limit for one try, from the look-up of the name to the headers of the answer. */
export const tryTimeoutMs = 15_000

/**
 * Limit for starting tries in one look of a webhook's run. Then the other webhooks that wait for a slot of the
 * worker have their turn.
 */
export const lookMsMax = 20_000
/** By this time the look is over, or its worker is lost. */
export const lookTimeoutMs: number = lookMsMax + 2 * tryTimeoutMs

/** Limit for the tries of one webhook that are under way at the same time, in all processes together. */
export const inFlightMax = 4

const second = 1_000
const minute = 60 * second
const hour = 60 * minute

/** The waits after the first try, the second try and so on. 75 hours in all. */
export const retryWaitsMs: readonly number[] = [
  5 * second,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
  24 * hour,
]

/** The longest wait between two tries, also when the receiver asks for more. */
export const waitMsMax = 24 * hour
/** The greatest part that jitter adds to a wait, so that many deliveries do not come back at the same moment. */
const jitterMax = 0.1

/**
 * Returns what follows from a try. `tries` is the number of earlier tries of this round. Retry-After can make a
 * wait longer, up to `waitMsMax`, but never shorter. `random` is from 0 to 1.
 */
export function verdictOf(
  answer: { readonly httpStatus?: number; readonly retryAfterMs?: number },
  tries: number,
  random: number,
): Verdict {
  const { httpStatus, retryAfterMs = 0 } = answer
  if (httpStatus !== undefined && httpStatus >= 200 && httpStatus < 300) {
    return { kind: 'delivered' }
  }
  if (httpStatus === 410) return { kind: 'gone' }
  const planned = retryWaitsMs[tries]
  if (planned === undefined) return { kind: 'given_up' }
  const jittered = planned * (1 + jitterMax * random)
  return { kind: 'retry', waitMs: Math.max(jittered, Math.min(retryAfterMs, waitMsMax)) }
}

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
