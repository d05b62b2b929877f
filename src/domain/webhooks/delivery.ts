import type { TaskView } from '../tasks/task.ts'
import type { SecretVersion, WebhookEvent } from './webhook.ts'

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
  readonly event: WebhookEvent | 'webhook.test'
  readonly url: string
  /** The current secret. After a rotation, also the previous one as long as it still signs. */
  readonly secrets: readonly SecretVersion[]
  readonly createdAtMs: number
  /** The tries of this round that are over. */
  readonly tries: number
  /** The number of this claim. When a newer claim exists, a success of this one still counts, a failure does not. */
  readonly claim: number
  /** Absent for an event that belongs to no task. */
  readonly task?: TaskView
  /** What an event of an account or a key tells. Absent for other events. */
  readonly data?: object
}

/** Limit for one try, from the look-up of the name to the headers of the answer. */
export const tryTimeoutMs = 15_000

/** After this time a claimed delivery is due again: its worker is lost. The rest of the time is for the record. */
export const claimMs: number = tryTimeoutMs + 5_000

/** Limit for the tries of one webhook that are under way at the same time, in all processes together. */
export const inFlightMax = 4
