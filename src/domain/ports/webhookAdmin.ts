import type { DeliveryPage, WebhookStore } from './webhookStore.ts'
import type { Delivery } from '../webhooks/delivery.ts'

/** A webhook as `webhook list` shows it. */
export type ListedWebhook = {
  readonly webhookId: string
  readonly account: string
  readonly url: string
  readonly status: 'active' | 'disabled'
  readonly createdAtMs: number
  /** The id of the key in WEBHOOK_KEYS from which its secret is computed. */
  readonly keyId: string
  /** How many deliveries are pending, and when the oldest of them was made. */
  readonly pending: number
  readonly oldestPendingMs?: number
  /** Absent when the last try was delivered, and before the first try. */
  readonly failingSinceMs?: number
}

export type RedeliverResult =
  | { readonly kind: 'due'; readonly delivery: Delivery }
  | { readonly kind: 'missing' }
  | { readonly kind: 'disabled' }

/** The operator's view of webhooks. Implemented in `src/store/webhooks/`. */
export type WebhookAdmin = {
  /** Returns the webhooks of the account with this name, or of all accounts, newest first. */
  readonly listAllWebhooks: (account?: string) => Promise<readonly ListedWebhook[]>
  /** Returns whether there is such a webhook. A deleted one counts as long as it has deliveries. */
  readonly hasWebhook: (webhookId: string) => Promise<boolean>
  readonly endWebhook: WebhookStore['endWebhook']
  readonly listDeliveries: (webhookId: string, page: DeliveryPage) => Promise<readonly Delivery[]>
  /** Makes a delivery due now. A delivery of a deleted webhook is `missing`. */
  readonly redeliverAny: (deliveryId: string) => Promise<RedeliverResult>
}
