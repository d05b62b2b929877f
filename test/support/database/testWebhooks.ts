import type { Pool } from 'pg'
import { beforeEach } from 'vitest'
import { rowsOf } from './rowsOf.ts'
import type { ClaimedDelivery } from '../../../src/domain/webhooks/delivery.ts'
import type { WebhookEvent } from '../../../src/domain/webhooks/webhook.ts'
import { newWebhookId, taskEndEvents } from '../../../src/domain/webhooks/webhook.ts'
import type { DeliveryJson } from '../../../src/store/webhooks/deliveries.ts'
import { listDeliveries } from '../../../src/store/webhooks/deliveries.ts'
import { claimDue } from '../../../src/store/webhooks/claimDue.ts'
import { insertWebhook } from '../../../src/store/webhooks/webhookRows.ts'
import type { AttemptWorld } from './attemptWorld.ts'
import { insertTask } from './insertTask.ts'

/** Inserts an active webhook of the account and returns its id. */
export async function insertTestWebhook(
  pool: Pool,
  accountId: string,
  url = 'https://receiver.example/',
  events: readonly WebhookEvent[] = taskEndEvents,
): Promise<string> {
  const webhookId = newWebhookId()
  const inserted = await insertWebhook(pool, {
    webhookId,
    accountId,
    url,
    events,
    secret: { keyId: 'w1', version: 1 },
  })
  if (inserted === undefined) throw new Error('the account has too many webhooks')
  return webhookId
}

/** Claims everything that is due, and returns what the webhook has of it. */
export async function claimOf(pool: Pool, webhookId: string): Promise<readonly ClaimedDelivery[]> {
  const claimed = await claimDue(pool, { claimsMax: 1_000, failingToo: true })
  return claimed.filter((delivery) => delivery.webhookId === webhookId)
}

/** Returns all deliveries of a webhook, newest first. */
export async function deliveriesOf(
  pool: Pool,
  webhookId: string,
): Promise<readonly DeliveryJson[]> {
  return rowsOf(await listDeliveries(pool, webhookId, {}))
}

/** Makes an account with one webhook before each test of the calling file. */
export function useTestWebhook(world: Pick<AttemptWorld, 'pool' | 'attempts'>) {
  let [id, accountId] = ['', '']
  beforeEach(async () => {
    accountId = (await insertTask(world.pool)).accountId
    id = await insertTestWebhook(world.pool, accountId)
  })
  /** Claims all of its deliveries that can be claimed, up to four. */
  const claim = () => claimOf(world.pool, id)
  return {
    get id() {
      return id
    },
    get accountId() {
      return accountId
    },
    /** Ends a new task of the account as failed, and returns its id. */
    endOne: async () => {
      const { taskId } = await insertTask(world.pool, { accountId })
      const failure = { code: 'upstream_error', cause: 'unknown', workPossible: false } as const
      await world.attempts.failTask(taskId, failure, 0)
      return taskId
    },
    claim,
    /** Claims its only delivery. Throws when there is none or more than one to claim. */
    claimOne: async () => {
      const [delivery, ...others] = await claim()
      if (delivery === undefined || others.length > 0) throw new Error('not one to claim')
      return delivery
    },
    all: () => deliveriesOf(world.pool, id),
  }
}
