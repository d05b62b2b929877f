import { z } from 'zod'
import { jsonBodyErrors, queryErrors } from '../errorCatalog.ts'
import { examples } from '../examples.ts'
import type { Operation } from '../operation.ts'
import { json } from '../operation.ts'
import {
  deletedWebhook,
  delivery,
  deliveryId,
  deliveryList,
  webhook,
  webhookId,
  webhookList,
  webhookWithSecret,
} from '../../schema/answers/webhook.ts'
import { deliveriesQuery, newWebhookSchema, webhooksQuery } from '../../schema/webhookRequest.ts'

const shared = {
  tag: 'Webhooks',
  extension: true,
  access: 'account',
  envelope: 'full',
} as const satisfies Partial<Operation>

const webhookPath = z.object({ webhook_id: webhookId })

/** The operations with which an account manages its webhooks and reads what was delivered to them. */
export const webhookOperations: readonly Operation[] = [
  {
    ...shared,
    method: 'post',
    path: '/v1/webhooks',
    id: 'registerWebhook',
    summary: 'Register a webhook',
    description:
      'This answer alone contains the secret. An account has at most five webhooks. The address must be `https`, unless the operator allows private addresses.',
    request: {
      body: json(
        newWebhookSchema(() => undefined),
        { webhook: examples.newWebhook },
      ),
    },
    answers: {
      201: {
        description: 'The webhook and its secret.',
        content: json(webhookWithSecret, { webhook: examples.webhookWithSecret }),
      },
    },
    errors: [...jsonBodyErrors, 'too_many_webhooks'],
  },
  {
    ...shared,
    method: 'get',
    path: '/v1/webhooks',
    id: 'listWebhooks',
    summary: 'List the webhooks of the account',
    request: { query: webhooksQuery },
    answers: {
      200: {
        description: 'Webhooks, newest first.',
        content: json(webhookList, {
          webhooks: { object: 'list', data: [examples.webhook], has_more: false },
        }),
      },
    },
    errors: queryErrors,
  },
  {
    ...shared,
    method: 'get',
    path: '/v1/webhooks/{webhook_id}',
    id: 'getWebhook',
    summary: 'Read a webhook',
    request: { path: webhookPath },
    answers: { 200: webhookAnswer() },
    errors: [...queryErrors, 'webhook_not_found'],
  },
  {
    ...shared,
    method: 'delete',
    path: '/v1/webhooks/{webhook_id}',
    id: 'deleteWebhook',
    summary: 'Delete a webhook',
    description:
      'Its pending deliveries end as failed. A try that was under way can still arrive in the next 15 seconds.',
    request: { path: webhookPath },
    answers: {
      200: {
        description: 'The webhook is deleted.',
        content: json(deletedWebhook, {
          deleted: { webhook_id: examples.webhook.webhook_id, deleted: true },
        }),
      },
    },
    errors: [...jsonBodyErrors, 'webhook_not_found'],
  },
  {
    ...shared,
    method: 'post',
    path: '/v1/webhooks/{webhook_id}/rotate',
    id: 'rotateWebhookSecret',
    summary: 'Replace the secret of a webhook',
    description:
      'For 24 hours deliveries have two signatures, of the new and of the former secret.',
    request: { path: webhookPath },
    answers: {
      200: {
        description: 'The webhook and its new secret.',
        content: json(webhookWithSecret, { webhook: examples.webhookWithSecret }),
      },
    },
    errors: [...jsonBodyErrors, 'webhook_not_found'],
  },
  {
    ...shared,
    method: 'post',
    path: '/v1/webhooks/{webhook_id}/enable',
    id: 'enableWebhook',
    summary: 'Enable a disabled webhook',
    description: 'Ends from before are not delivered, but can be redelivered one by one.',
    request: { path: webhookPath },
    answers: { 200: webhookAnswer() },
    errors: [...jsonBodyErrors, 'webhook_not_found'],
  },
  {
    ...shared,
    method: 'post',
    path: '/v1/webhooks/{webhook_id}/test',
    id: 'testWebhook',
    summary: 'Send a test event',
    description: 'Sends `webhook.test`, and repeats it like any other event.',
    request: { path: webhookPath },
    answers: { 202: deliveryAnswer() },
    errors: [...jsonBodyErrors, 'webhook_not_found', 'webhook_disabled'],
  },
  {
    ...shared,
    method: 'get',
    path: '/v1/webhooks/{webhook_id}/deliveries',
    id: 'listDeliveries',
    summary: 'List the deliveries of a webhook',
    description: 'Newest first. A delivery is kept as long as the record of its task.',
    request: {
      path: webhookPath,
      query: deliveriesQuery,
    },
    answers: {
      200: {
        description: 'One page of deliveries.',
        content: json(deliveryList, {
          deliveries: { object: 'list', data: [examples.delivery], has_more: false },
        }),
      },
    },
    errors: [...queryErrors, 'webhook_not_found'],
  },
  {
    ...shared,
    method: 'post',
    path: '/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver',
    id: 'redeliver',
    summary: 'Deliver an event again',
    description:
      'Makes the delivery due now, with the same `webhook-id`, and starts its tries from the first.',
    request: { path: webhookPath.extend({ delivery_id: deliveryId }) },
    answers: { 202: deliveryAnswer() },
    errors: [...jsonBodyErrors, 'webhook_not_found', 'delivery_not_found', 'webhook_disabled'],
  },
]

function webhookAnswer(): Operation['answers'][number] {
  return {
    description: 'The webhook.',
    content: json(webhook, { webhook: examples.webhook }),
  }
}

function deliveryAnswer(): Operation['answers'][number] {
  return {
    description: 'The delivery, which is due now.',
    content: json(delivery, { delivery: examples.delivery }),
  }
}
