import type { Pool } from 'pg'
import type { ClaimedDelivery } from '../../domain/webhooks/delivery.ts'
import type { Verdict } from '../../domain/webhooks/retries.ts'
import type { ClaimRoom } from './claimDue.ts'
import { claimDue } from './claimDue.ts'
import type { DeliveryPage } from './deliveries.ts'
import { insertTestDelivery, listDeliveries, readDelivery, redeliver } from './deliveries.ts'
import type { TryOutcome } from './recordTry.ts'
import { recordTry } from './recordTry.ts'
import type { NewWebhook } from './webhooks.ts'
import {
  enableWebhook,
  endPending,
  endWebhook,
  forgetWebhooks,
  insertWebhook,
  listWebhooks,
  readWebhook,
  rotateSecret,
} from './webhooks.ts'

/** For the routes by which clients manage their webhooks. */
export function createWebhookStore(pool: Pool) {
  return {
    insertWebhook: (webhook: NewWebhook) => insertWebhook(pool, webhook),
    listWebhooks: (accountId: string) => listWebhooks(pool, accountId),
    readWebhook: (accountId: string, webhookId: string) => readWebhook(pool, accountId, webhookId),
    endWebhook: (webhookId: string, status: 'disabled' | 'deleted', accountId?: string) =>
      endWebhook(pool, webhookId, status, accountId),
    enableWebhook: (accountId: string, webhookId: string) =>
      enableWebhook(pool, accountId, webhookId),
    rotateSecret: (accountId: string, webhookId: string, keyId: string) =>
      rotateSecret(pool, accountId, webhookId, keyId),
    insertTestDelivery: (webhookId: string) => insertTestDelivery(pool, webhookId),
    listDeliveries: (webhookId: string, page: DeliveryPage) =>
      listDeliveries(pool, webhookId, page),
    readDelivery: (webhookId: string, deliveryId: string) =>
      readDelivery(pool, webhookId, deliveryId),
    redeliver: (deliveryId: string, webhookId: string) => redeliver(pool, deliveryId, webhookId),
  }
}

export type WebhookStore = Readonly<ReturnType<typeof createWebhookStore>>

/** For the workers, which send the deliveries of webhooks. */
export function createDeliveryStore(pool: Pool) {
  return {
    claimDue: (room: ClaimRoom) => claimDue(pool, room),
    recordTry: (claimed: ClaimedDelivery, outcome: TryOutcome, verdict: Verdict) =>
      recordTry(pool, claimed, outcome, verdict),
    endPending: () => endPending(pool),
    forgetWebhooks: () => forgetWebhooks(pool),
  }
}

export type DeliveryStore = Readonly<ReturnType<typeof createDeliveryStore>>
