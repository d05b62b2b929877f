import type { List } from '../domain/lists/list.ts'
import { succeed } from '../domain/result.ts'
import { findAccount } from '../store/accounts/accountRows.ts'
import type { Page } from '../store/readPage.ts'
import type { DeliveryJson, DeliveryPage } from '../store/webhooks/deliveries.ts'
import * as store from '../store/webhooks/deliveries.ts'
import type { WebhookJson } from '../store/webhooks/webhookAdmin.ts'
import { hasWebhook, listAllWebhooks, readWebhook } from '../store/webhooks/webhookAdmin.ts'
import { closeWebhook, endPending } from '../store/webhooks/webhookRows.ts'
import { accountNamed } from './accounts.ts'
import type { AnswerOf } from '../schema/answerOf.ts'
import type { redelivered } from '../schema/operators/operatorWebhooks.ts'
import { audited } from './audit.ts'
import { doMany } from './doMany.ts'
import type { Done, OperationDeps } from './operation.ts'
import { found, listed, missing, refuse } from './operation.ts'

/** Lists the webhooks of the account with this name, or of all, newest first. */
export async function listWebhooks(
  { pool }: OperationDeps,
  page: Page & { readonly account?: string } = {},
): Done<List<WebhookJson>> {
  const { account } = page
  if (account !== undefined && (await findAccount(pool, account)) === undefined) {
    return missing(accountNamed(account))
  }
  return listed(await listAllWebhooks(pool, page))
}

/** Returns a webhook that is not deleted. */
export async function showWebhook({ pool }: OperationDeps, webhookId: string): Done<WebhookJson> {
  return found(await readWebhook(pool, webhookId), `webhook ${webhookId}`)
}

/** Lists the deliveries of a webhook, newest first. */
export async function listWebhookDeliveries(
  { pool }: OperationDeps,
  { webhookId, ...page }: DeliveryPage & { readonly webhookId: string },
): Done<List<DeliveryJson>> {
  if (!(await hasWebhook(pool, webhookId))) return missing(`webhook ${webhookId}`)
  return listed(await store.listDeliveries(pool, webhookId, page))
}

/** Makes a delivery due now, with the same id. Refused while its webhook is disabled. */
export async function redeliver(deps: OperationDeps, deliveryId: string): Done<DeliveryJson> {
  const change = { action: 'webhook.redeliver', target: deliveryId, params: {} }
  return audited(deps, change, async (client) => {
    const delivery = await store.redeliver(client, deliveryId)
    if (delivery === 'missing') return missing(`delivery ${deliveryId}, or its webhook is deleted`)
    if (delivery !== 'disabled') return succeed(delivery)
    const message = 'The webhook of this delivery is disabled. Its account can enable it.'
    return refuse('webhook_disabled', message)
  })
}

export type RedeliverMany = {
  readonly webhookId: string
  readonly limit: number
  readonly dryRun: boolean
  /** Which of them. Absent: all. */
  readonly deliveryIds?: readonly string[]
}

export type RedeliveredMany = AnswerOf<typeof redelivered>

/** Makes failed deliveries of a webhook due now, newest first. With `dryRun`, only names them. */
export async function redeliverFailed(
  deps: OperationDeps,
  { dryRun, ...wanted }: RedeliverMany,
): Done<RedeliveredMany> {
  const failed = await listWebhookDeliveries(deps, { ...wanted, status: 'failed' })
  if (!failed.ok) return failed
  const deliveryIds = failed.value.data.map(({ delivery_id }) => delivery_id)
  if (dryRun) return succeed({ would_redeliver: deliveryIds })
  const { done, refused } = await doMany(deliveryIds, (id) => redeliver(deps, id))
  return succeed({
    redelivered: done.map(({ delivery_id }) => delivery_id),
    refused: refused.map(({ id, ...why }) => ({ delivery_id: id, ...why })),
  })
}

/** Disables a webhook. What it has pending fails. */
export async function disableWebhook(
  deps: OperationDeps,
  webhookId: string,
): Done<{ readonly webhook_id: string; readonly status: 'disabled' }> {
  return end(deps, 'webhook.disable', { webhook_id: webhookId, status: 'disabled' })
}

/** Deletes a webhook. What it has pending fails. */
export async function deleteWebhook(
  deps: OperationDeps,
  webhookId: string,
): Done<{ readonly webhook_id: string; readonly deleted: true }> {
  return end(deps, 'webhook.delete', { webhook_id: webhookId, deleted: true })
}

async function end<Answer extends { readonly webhook_id: string }>(
  deps: OperationDeps,
  action: 'webhook.disable' | 'webhook.delete',
  answer: Answer,
): Done<Answer> {
  const { webhook_id: webhookId } = answer
  const status = action === 'webhook.disable' ? 'disabled' : 'deleted'
  const result = await audited<Answer>(
    deps,
    { action, target: webhookId, params: {} },
    async (client) =>
      (await closeWebhook(client, webhookId, status))
        ? succeed(answer)
        : missing(`webhook ${webhookId}`),
  )
  if (result.ok) await endPending(deps.pool, webhookId)
  return result
}
