import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import { deliveryRecord } from '../domain/webhooks/delivery.ts'
import { findAccount } from '../store/accounts/accounts.ts'
import type { DeliveryPage } from '../store/webhooks/deliveries.ts'
import * as store from '../store/webhooks/deliveries.ts'
import type { WebhookJson, WebhookPage } from '../store/webhooks/webhookAdmin.ts'
import { hasWebhook, listAllWebhooks } from '../store/webhooks/webhookAdmin.ts'
import { closeWebhook, endPending } from '../store/webhooks/webhooks.ts'
import { noAccount } from './accounts.ts'
import type { AnswerOf } from '../schema/answerOf.ts'
import type { redelivered } from '../schema/operators/webhooks.ts'
import { audited } from './audit.ts'
import { doMany } from './doMany.ts'
import type { List, OperationDeps, OperationFailure } from './operation.ts'
import { listOf, pageOf, unknownAfter } from './operation.ts'

export type DeliveryJson = ReturnType<typeof deliveryRecord>

/** Lists webhooks, newest first. */
export async function listWebhooks(
  { pool }: OperationDeps,
  page: WebhookPage = {},
): Promise<Result<List<WebhookJson>, OperationFailure>> {
  const { account, after, limit } = page
  if (account !== undefined && (await findAccount(pool, account)) === undefined) {
    return fail(noAccount(account))
  }
  if (after !== undefined && !(await hasWebhook(pool, after))) return fail(unknownAfter)
  return succeed(listOf(await listAllWebhooks(pool, pageOf(page)), limit))
}

/** Lists the deliveries of a webhook, newest first. */
export async function listWebhookDeliveries(
  { pool }: OperationDeps,
  { webhookId, ...page }: DeliveryPage & { readonly webhookId: string },
): Promise<Result<List<DeliveryJson>, OperationFailure>> {
  if (!(await hasWebhook(pool, webhookId))) return fail(noWebhook(webhookId))
  const { after, limit } = page
  if (after !== undefined && (await store.readDelivery(pool, webhookId, after)) === undefined) {
    return fail(unknownAfter)
  }
  const deliveries = await store.listDeliveries(pool, webhookId, { ...page, limit: limit + 1 })
  return succeed(listOf(deliveries.map(deliveryRecord), limit))
}

/** Makes a delivery due now, with the same id. Refused while its webhook is disabled. */
export async function redeliver(
  deps: OperationDeps,
  deliveryId: string,
): Promise<Result<DeliveryJson, OperationFailure>> {
  const change = { action: 'webhook.redeliver', target: deliveryId, params: {} }
  return audited(deps, change, async (client) => {
    const delivery = await store.redeliver(client, deliveryId)
    if (delivery === 'missing') {
      const what = `delivery ${deliveryId}, or its webhook is deleted`
      return fail({ kind: 'not_found', what })
    }
    if (delivery !== 'disabled') return succeed(deliveryRecord(delivery))
    const message = 'The webhook of this delivery is disabled. Its account can enable it.'
    return fail({ kind: 'refused', code: 'webhook_disabled', message })
  })
}

export type RedeliverMany = {
  readonly webhookId: string
  readonly limit: number
  readonly dryRun: boolean
}

export type RedeliveredMany = AnswerOf<typeof redelivered>

/** Makes failed deliveries of a webhook due now, newest first. With `dryRun`, only names them. */
export async function redeliverFailed(
  deps: OperationDeps,
  { webhookId, limit, dryRun }: RedeliverMany,
): Promise<Result<RedeliveredMany, OperationFailure>> {
  const listed = await listWebhookDeliveries(deps, { webhookId, limit, status: 'failed' })
  if (!listed.ok) return listed
  const deliveryIds = listed.value.data.map(({ delivery_id }) => delivery_id)
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
): Promise<Result<{ readonly webhook_id: string; readonly status: 'disabled' }, OperationFailure>> {
  const result = await end(deps, webhookId, 'disabled')
  return result.ok ? succeed({ webhook_id: webhookId, status: 'disabled' }) : result
}

/** Deletes a webhook. What it has pending fails. */
export async function deleteWebhook(
  deps: OperationDeps,
  webhookId: string,
): Promise<Result<{ readonly webhook_id: string; readonly deleted: true }, OperationFailure>> {
  const result = await end(deps, webhookId, 'deleted')
  return result.ok ? succeed({ webhook_id: webhookId, deleted: true }) : result
}

const actions = { disabled: 'webhook.disable', deleted: 'webhook.delete' } as const

async function end(deps: OperationDeps, webhookId: string, status: keyof typeof actions) {
  const change = { action: actions[status], target: webhookId, params: {} }
  const result = await audited<undefined>(deps, change, async (client) =>
    (await closeWebhook(client, webhookId, status))
      ? succeed(undefined)
      : fail(noWebhook(webhookId)),
  )
  if (result.ok) await endPending(deps.pool, webhookId)
  return result
}

function noWebhook(webhookId: string): OperationFailure {
  return { kind: 'not_found', what: `webhook ${webhookId}` }
}
