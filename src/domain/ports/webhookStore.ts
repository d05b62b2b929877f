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
   * Disables or deletes a webhook, and ends its pending deliveries as failed. The reconciler ends those beyond 20,000.
   * Returns false when the account has no such webhook.
   */
  readonly endWebhook: (
    accountId: string,
    webhookId: string,
    status: 'disabled' | 'deleted',
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
  /** Lists webhooks that have due first tries. */
  readonly dueWebhooks: (limit: number) => Promise<readonly DueWebhook[]>
  /**
   * Claims one delivery of an active webhook for one try: the delivery that has been due longest. Reads what the try
   * needs. `first` chooses among first tries, `again` among later ones. Returns `undefined` when there is no such
   * delivery, or when `inFlightMax` tries of the webhook are under way.
   */
  readonly claimDelivery: (
    webhookId: string,
    which: 'first' | 'again',
  ) => Promise<ClaimedDelivery | undefined>
  /** Records the outcome of a try. Returns whether the webhook's run must be started or woken for the next try. */
  readonly recordTry: (
    claimed: ClaimedDelivery,
    outcome: TryOutcome,
    verdict: Verdict,
  ) => Promise<{ readonly needsRun: boolean }>
  /**
   * Records when the run of a webhook will look for due deliveries again. With `workMs`, a look begins now, and the
   * next one is planned for `workMs` from now. Without `workMs`, it is planned for the time when the next repetition
   * is due. Returns the milliseconds until that time, or `undefined` when no delivery waits for a repetition, so that
   * the run can end.
   */
  readonly planLook: (webhookId: string, workMs?: number) => Promise<number | undefined>
  /** Lists webhooks with deliveries to repeat that have no run, or whose run is late or looks too late. */
  readonly webhooksWithoutRun: (limit: number) => Promise<readonly WebhookRun[]>
  /** Lists webhooks that are not active and still have pending deliveries. */
  readonly endedWithPending: (limit: number) => Promise<readonly string[]>
  /** Ends some pending deliveries of a webhook as failed, unless it is active. Returns false when there was none. */
  readonly endSomePending: (webhookId: string) => Promise<boolean>
  /** Deletes deleted webhooks that have no delivery left. Returns how many. */
  readonly forgetWebhooks: () => Promise<number>
}

/** What came of a try. `durationMs` is how long it took. */
export type TryOutcome = Omit<DeliveryAttempt, 'atMs'> & { readonly durationMs: number }

export type DueWebhook = {
  readonly webhookId: string
  readonly accountId: string
  /** Whether its last try failed. */
  readonly failing: boolean
  /** How many of its deliveries are due, counted up to `inFlightMax`. */
  readonly due: number
}

export type WebhookRun = { readonly webhookId: string; readonly accountId: string }

/** Starts the run of a webhook, or wakes it. Returns whether Temporal answered. If not, the reconciler repeats it. */
export type WakeRun = (run: WebhookRun) => Promise<boolean>

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
