import { defined } from '../../domain/defined.ts'
import type { Delivery } from '../../domain/webhooks/delivery.ts'
import { deliveryRecord } from '../../domain/webhooks/delivery.ts'
import { deliveryIdPattern } from '../../domain/webhooks/webhook.ts'
import { invalidValue } from '../../schema/requestFailures.ts'
import { deliveriesQuery } from '../../schema/webhookRequest.ts'
import { sendJson } from '../answers/sendBody.ts'
import type { AccountHandler, ApiParts, RouteContext } from '../context.ts'
import { withQuery } from '../extensionRoute.ts'
import { answer, webhookIdOf, withoutFields } from './webhooks.ts'

/** `GET /v1/webhooks/{id}/deliveries`: lists the deliveries of a webhook, newest first. */
export function listDeliveries(parts: ApiParts): AccountHandler {
  return withQuery(deliveriesQuery, async (context, caller, query) => {
    const page = { limit: query.limit + 1, ...defined({ after: query.after }) }
    const listed = await parts.webhooks.deliveries(caller, webhookIdOf(context), page)
    if (!listed.ok) {
      if (listed.failure.tag !== 'unknown_after') return listed.failure
      return invalidValue('after', 'it is not the id of a delivery of this webhook')
    }
    const data = listed.value.slice(0, query.limit).map(deliveryRecord)
    const hasMore = listed.value.length > query.limit
    sendJson(context, 200, { object: 'list', data, has_more: hasMore })
    return undefined
  })
}

/** `POST /v1/webhooks/{id}/test`: sends `webhook.test`. */
export function testWebhook(parts: ApiParts): AccountHandler {
  return withoutFields(parts, (context, caller) =>
    answer(context, parts.webhooks.test(caller, webhookIdOf(context)), accepted),
  )
}

/** `POST /v1/webhooks/{id}/deliveries/{delivery_id}/redeliver`: sends an event again, with the same id. */
export function redeliver(parts: ApiParts): AccountHandler {
  return withoutFields(parts, (context, caller) => {
    const deliveryId = deliveryIdOf(context)
    const asked = parts.webhooks.redeliver(caller, webhookIdOf(context), deliveryId)
    return answer(context, asked, accepted)
  })
}

function accepted(delivery: Delivery) {
  return [202, deliveryRecord(delivery)] as const
}

function deliveryIdOf({ params }: RouteContext): string {
  const { deliveryId = '' } = params
  return deliveryIdPattern.test(deliveryId) ? deliveryId : ''
}
