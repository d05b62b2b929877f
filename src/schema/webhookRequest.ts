import { z } from 'zod'
import { deliveryIdPattern, webhookEvents, webhookIdPattern } from '../domain/webhooks/webhook.ts'
import { limitParameter } from './listQuery.ts'

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
    .default([...webhookEvents]),
})

/** The query of `GET /v1/webhooks`. */
export const webhooksQuery = pageOf(webhookIdPattern, 'webhook')

/** The query of `GET /v1/webhooks/{id}/deliveries`. */
export const deliveriesQuery = pageOf(deliveryIdPattern, 'delivery')

function pageOf(idPattern: RegExp, row: string) {
  return z.strictObject({
    limit: limitParameter,
    after: z
      .string()
      .regex(idPattern, { error: `the id of a ${row} from the previous page` })
      .optional()
      .meta({ description: 'The last id of the previous page. The list continues after it.' }),
  })
}
