import { z } from 'zod'
import {
  deliveryIdPattern,
  webhookEvents,
  webhookIdPattern,
} from '../../domain/webhooks/webhook.ts'
import { listedTask, taskId } from './taskRecord.ts'

export const webhookId = z.string().regex(webhookIdPattern).meta({
  description: 'The public identifier of a webhook.',
  example: 'wh_0123456789ABCDEFGHIJKLMN',
})

export const deliveryId = z.string().regex(deliveryIdPattern).meta({
  description: 'The public identifier of a delivery, and the `webhook-id` of its tries.',
  example: 'whd_0123456789abcdef0123456789abcdef',
})

const fields = z.object({
  webhook_id: webhookId,
  url: z.string().meta({ description: 'The address, as it was registered.' }),
  events: z.array(z.enum(webhookEvents)),
  status: z.enum(['active', 'disabled']).meta({
    description: 'A webhook is disabled when its receiver answers 410, or by the operator.',
  }),
  created_at: z.iso.datetime(),
})

/** A webhook without its secret. */
export const webhook = fields.meta({ id: 'Webhook', description: 'A webhook.' })

/** A webhook with its secret: the answer to a registration, and to a rotation, which makes a new secret. */
export const webhookWithSecret = fields
  .extend({
    secret: z.string().meta({
      description: 'The signing secret of Standard Webhooks. No other answer contains it.',
      example: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=',
    }),
  })
  .meta({ id: 'WebhookWithSecret', description: 'A webhook and its signing secret.' })

export const webhookList = listOf(webhook)

export const deletedWebhook = z.object({ webhook_id: webhookId, deleted: z.literal(true) })

const attempt = z.object({
  at: z.iso.datetime(),
  http_status: z.int().optional().meta({ description: 'Present when the receiver answered.' }),
  error: z
    .enum([
      'address_not_allowed',
      'name_not_resolved',
      'connection_failed',
      'tls_failed',
      'timeout',
      'answer_not_read',
    ])
    .optional()
    .meta({ description: 'Present when it did not.' }),
})

/** One event for one webhook. */
export const delivery = z
  .object({
    delivery_id: deliveryId,
    webhook_id: webhookId,
    event: z.enum([...webhookEvents, 'webhook.test']),
    task_id: taskId.optional().meta({ description: 'Absent for `webhook.test`.' }),
    status: z.enum(['pending', 'delivered', 'failed']),
    created_at: z.iso.datetime(),
    attempts: z.array(attempt).meta({ description: 'The last tries, oldest first.' }),
    next_attempt_at: z.iso.datetime().optional().meta({ description: 'Present while pending.' }),
  })
  .meta({ id: 'WebhookDelivery', description: 'One event for one webhook, with its tries.' })

export const deliveryList = listOf(delivery)

function listOf<Row extends z.ZodType>(row: Row) {
  return z.object({ object: z.literal('list'), data: z.array(row), has_more: z.boolean() })
}

/** What a receiver gets when a task ends. */
export const taskEvent = z
  .object({
    type: z.enum(webhookEvents),
    timestamp: z.iso.datetime().meta({ description: 'When the task ended.' }),
    data: listedTask,
  })
  .meta({ id: 'TaskEvent', description: 'The end of a task, with its record as it ended.' })

/** What a receiver gets from `POST /v1/webhooks/{webhook_id}/test`. */
export const testEvent = z
  .object({
    type: z.literal('webhook.test'),
    timestamp: z.iso.datetime(),
    data: z.object({ webhook_id: webhookId }),
  })
  .meta({ id: 'WebhookTestEvent', description: 'A test of a webhook.' })

/** The headers of every delivery (Standard Webhooks). */
export const deliveryHeaders = z.object({
  'webhook-id': deliveryId.meta({
    description: 'The same in every try and redelivery of one event. Ignore an id that you know.',
  }),
  'webhook-timestamp': z.string().regex(/^\d+$/).meta({
    description: 'When this try was made, in Unix seconds. Refuse one that is minutes old.',
    example: '1767225641',
  }),
  'webhook-signature': z.string().meta({
    description:
      'One or two signatures, separated by a space: `v1,` and the Base64 of HMAC-SHA256 over `id.timestamp.body`. Accept the delivery when one of them is right.',
    example: 'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  }),
})
