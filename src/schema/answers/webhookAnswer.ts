import { z } from 'zod'
import { deliveryErrors } from '../../domain/webhooks/delivery.ts'
import { listOf } from './listAnswer.ts'
import { idForms } from '../../domain/ids.ts'
import { webhookEvents } from '../../domain/webhooks/webhook.ts'
import { taskId } from './recordAnswer.ts'

export const webhookId = z.string().regex(idForms.webhook_id.pattern).meta({
  description: 'The public identifier of a webhook.',
  example: 'wh_0123456789ABCDEFGHIJKLMN',
})

export const deliveryId = z.string().regex(idForms.delivery_id.pattern).meta({
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
  error: z.enum(deliveryErrors).optional().meta({ description: 'Present when it did not.' }),
})

/** One event for one webhook. */
export const delivery = z
  .object({
    delivery_id: deliveryId,
    webhook_id: webhookId,
    event: z.enum([...webhookEvents, 'webhook.test']),
    task_id: taskId.optional().meta({ description: 'Absent for events that belong to no task.' }),
    status: z.enum(['pending', 'delivered', 'failed']),
    created_at: z.iso.datetime(),
    attempts: z.array(attempt).meta({ description: 'The last tries, oldest first.' }),
    next_attempt_at: z.iso.datetime().optional().meta({ description: 'Present while pending.' }),
  })
  .meta({ id: 'WebhookDelivery', description: 'One event for one webhook, with its tries.' })

export const deliveryList = listOf(delivery)
