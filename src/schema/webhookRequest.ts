import { z } from 'zod'
import { taskEndEvents, webhookEvents } from '../domain/webhooks/webhook.ts'
import { pageQuery } from './queries.ts'

/** The body of `POST /v1/webhooks`. */
export const newWebhook = z.strictObject({
  url: z.string('must be a string').meta({ example: 'https://example.com/hooks/darkroom' }),
  events: z
    .array(
      z.enum(webhookEvents, `must contain only ${webhookEvents.join(', ')}`),
      'must be an array',
    )
    .min(1, 'must not be empty')
    .transform((events) => [...new Set(events)])
    .default([...taskEndEvents]),
})

/** The query of `GET /v1/webhooks`. */
export const webhooksQuery = pageQuery('webhook_id')

/** The query of `GET /v1/webhooks/{id}/deliveries`. */
export const deliveriesQuery = pageQuery('delivery_id')
