import { randomBytes } from 'node:crypto'
import type { Pool } from 'pg'
import { newWebhookId } from '../../../src/domain/webhooks/webhook.ts'
import { insertWebhook } from '../../../src/store/webhooks/webhooks.ts'

/** Inserts an active webhook of the account and returns its id. */
export async function insertTestWebhook(
  pool: Pool,
  accountId: string,
  url = 'https://receiver.example/',
): Promise<string> {
  const webhookId = newWebhookId(randomBytes)
  const inserted = await insertWebhook(pool, {
    webhookId,
    accountId,
    url,
    events: ['task.succeeded', 'task.failed'],
    secret: { keyId: 'w1', version: 1 },
  })
  if (inserted === undefined) throw new Error('the account has too many webhooks')
  return webhookId
}
