import { z } from 'zod'
import { adminRoute } from '../adminRoute.ts'
import type { AdminRoute } from '../adminParts.ts'
import { defined } from '../../domain/defined.ts'
import { delivery, deliveryId, webhookId } from '../../schema/answers/webhookAnswer.ts'
import * as webhooks from '../../operations/webhooks.ts'
import { redelivered, webhook } from '../../schema/operators/operatorWebhooks.ts'
import { anyText, many, onlyThese } from '../schemas/parameters.ts'
import { pageQuery } from '../../schema/queries.ts'
import { listOf } from '../../schema/answers/listAnswer.ts'

const ofWebhook = z.strictObject({ webhook_id: webhookId })

export const webhookRoutes: readonly AdminRoute[] = [
  adminRoute({
    method: 'GET',
    path: '/admin/v1/webhooks',
    id: 'listWebhooks',
    summary: 'List webhooks, newest first',
    input: pageQuery('webhook_id').extend({
      account: anyText.optional().meta({ description: 'The name of an account.' }),
    }),
    answer: [200, 'Webhooks that are not deleted.', listOf(webhook)],
    errors: ['not_found'],
    run: ({ operator, input }) => webhooks.listWebhooks(operator, defined(input)),
  }),
  adminRoute({
    method: 'GET',
    path: '/admin/v1/webhooks/{webhook_id}',
    id: 'getWebhook',
    summary: 'Read a webhook',
    params: ofWebhook,
    answer: [200, 'A webhook that is not deleted.', webhook],
    run: ({ operator, params }) => webhooks.showWebhook(operator, params.webhook_id),
  }),
  adminRoute({
    method: 'GET',
    path: '/admin/v1/webhooks/{webhook_id}/deliveries',
    id: 'listDeliveries',
    summary: 'List the deliveries of a webhook, newest first',
    params: ofWebhook,
    input: pageQuery('delivery_id').extend({
      status: z.enum(['pending', 'delivered', 'failed']).optional(),
    }),
    answer: [200, 'Deliveries with their tries.', listOf(delivery)],
    run: ({ operator, params, input }) =>
      webhooks.listWebhookDeliveries(operator, { webhookId: params.webhook_id, ...defined(input) }),
  }),
  adminRoute({
    method: 'POST',
    path: '/admin/v1/deliveries/{delivery_id}/redeliver',
    id: 'redeliver',
    summary: 'Deliver an event now',
    description: 'It keeps its id, so that the receiver can tell that it is the same.',
    params: z.strictObject({ delivery_id: deliveryId }),
    answer: [200, 'The delivery, which is pending.', delivery],
    refusals: ['webhook_disabled'],
    run: ({ operator, params }) => webhooks.redeliver(operator, params.delivery_id),
  }),
  adminRoute({
    method: 'POST',
    path: '/admin/v1/webhooks/{webhook_id}/redeliver',
    id: 'redeliverMany',
    summary: 'Deliver failed events of a webhook now, newest first',
    params: ofWebhook,
    input: z.strictObject({
      status: z.literal('failed'),
      delivery_ids: onlyThese(deliveryId),
      ...many,
    }),
    answer: [200, 'What was done, or what would be.', redelivered],
    run: ({ operator, params, input: { delivery_ids: deliveryIds, limit, dry_run: dryRun } }) =>
      webhooks.redeliverFailed(operator, {
        webhookId: params.webhook_id,
        limit,
        dryRun,
        ...defined({ deliveryIds }),
      }),
  }),
  adminRoute({
    method: 'POST',
    path: '/admin/v1/webhooks/{webhook_id}/disable',
    id: 'disableWebhook',
    summary: 'Disable a webhook',
    description: 'What it has pending fails. Its account can enable it.',
    params: ofWebhook,
    answer: [
      200,
      'The webhook is disabled.',
      z.object({ webhook_id: z.string(), status: z.literal('disabled') }),
    ],
    run: ({ operator, params }) => webhooks.disableWebhook(operator, params.webhook_id),
  }),
  adminRoute({
    method: 'DELETE',
    path: '/admin/v1/webhooks/{webhook_id}',
    id: 'deleteWebhook',
    summary: 'Delete a webhook',
    description: 'What it has pending fails.',
    params: ofWebhook,
    answer: [
      200,
      'The webhook is deleted.',
      z.object({ webhook_id: z.string(), deleted: z.literal(true) }),
    ],
    run: ({ operator, params }) => webhooks.deleteWebhook(operator, params.webhook_id),
  }),
]
