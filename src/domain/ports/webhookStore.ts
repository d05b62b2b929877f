import type {
  ClaimedDelivery,
  Delivery,
  DeliveryAttempt,
  DeliveryError,
} from '../webhooks/delivery.ts'
import type { Verdict } from '../webhooks/retries.ts'
import type { SecretVersion, Webhook, WebhookEvent } from '../webhooks/webhook.ts'

/** What accounts do with their webhooks. Every function sees the webhooks of one account only. */
export type WebhookStore = {
  /** Returns `undefined` when the account has `webhooksMax` webhooks. */
  readonly insertWebhook: (webhook: NewWebhook) => Promise<Webhook | undefined>
  readonly listWebhooks: (accountId: string) => Promise<readonly Webhook[]>
  readonly readWebhook: (accountId: string, webhookId: string) => Promise<Webhook | undefined>
  /**
   * Disables or deletes a webhook, and ends what it has pending as failed. With `accountId`, only a webhook of that
   * account. Returns false when there is no such webhook.
   */
  readonly endWebhook: (
    webhookId: string,
    status: 'disabled' | 'deleted',
    accountId?: string,
  ) => Promise<boolean>
  readonly enableWebhook: (accountId: string, webhookId: string) => Promise<Webhook | undefined>
  /** Gives a webhook a new secret. For `rotationMs`, the previous secret signs too. */
  readonly rotateSecret: (
    accountId: string,
    webhookId: string,
    keyId: string,
  ) => Promise<Webhook | undefined>
  /**
   * Inserts a delivery of `webhook.test`. Returns `undefined` when the webhook is not active, and `too_many`
   * when `testDeliveriesMax` of them are pending.
   */
  readonly insertTestDelivery: (webhookId: string) => Promise<Delivery | 'too_many' | undefined>
  readonly listDeliveries: (webhookId: string, page: DeliveryPage) => Promise<readonly Delivery[]>
  readonly readDelivery: (webhookId: string, deliveryId: string) => Promise<Delivery | undefined>
  /**
   * Makes a delivery due now and begins a new round of tries. Returns `undefined` when the webhook is not
   * active or has no such delivery.
   */
  readonly redeliver: (webhookId: string, deliveryId: string) => Promise<Delivery | undefined>
}

export type NewWebhook = {
  readonly webhookId: string
  readonly accountId: string
  readonly url: string
  readonly events: readonly WebhookEvent[]
  readonly secret: SecretVersion
}

/** One page of deliveries, newest first. `after` is the id of the last delivery of the previous page. */
export type DeliveryPage = {
  readonly limit: number
  readonly after?: string
  readonly status?: Delivery['status']
}

/** What workers do with deliveries. */
export type DeliveryStore = {
  /**
   * Claims due deliveries of active webhooks for one try each, those of webhooks that do not fail first, and reads
   * what the tries need. At most `inFlightMax` tries of a webhook are under way, in all processes together.
   */
  readonly claimDue: (room: ClaimRoom) => Promise<readonly ClaimedDelivery[]>
  /** Records the outcome of a try, and when the next one is due. */
  readonly recordTry: (
    claimed: ClaimedDelivery,
    outcome: TryOutcome,
    verdict: Verdict,
  ) => Promise<void>
  /** Ends some pending deliveries of webhooks that are not active as failed. Returns how many. */
  readonly endPending: () => Promise<number>
  /** Deletes deleted webhooks that have no delivery left. Returns how many. */
  readonly forgetWebhooks: () => Promise<number>
}

/** How many deliveries to claim at most, and whether also those of webhooks whose last try failed. */
export type ClaimRoom = { readonly places: number; readonly failingToo: boolean }

/** What came of a try. `durationMs` is how long it took. */
export type TryOutcome = Omit<DeliveryAttempt, 'atMs'> & { readonly durationMs: number }

/** An event on its way to a receiver. It is signed once with each secret. */
export type Post = {
  readonly url: string
  readonly deliveryId: string
  readonly body: string
  readonly secrets: readonly string[]
}

/** What is kept of an answer, or why there was none. */
export type PostOutcome = {
  readonly httpStatus?: number
  readonly retryAfterMs?: number
  readonly error?: DeliveryError
}

/** Signs an event and posts it to its receiver. Never throws when the receiver fails. */
export type PostDelivery = (post: Post) => Promise<PostOutcome>
