import { defined } from '../../domain/defined.ts'
import { deliveryRecord } from '../../domain/webhooks/delivery.ts'
import { deliveryIdPattern } from '../../domain/webhooks/webhook.ts'
import { delivery, deliveryId, deliveryList, webhookId } from '../../schema/answers/webhook.ts'
import { invalidValue } from '../../schema/requestFailures.ts'
import { deliveriesQuery } from '../../schema/webhookRequest.ts'
import { sendJson } from '../answers/sendBody.ts'
import type { ApiParts, RouteContext } from '../context.ts'
import { extensionRoute } from '../extensionRoute.ts'
import type { Answer, Route } from '../route.ts'
import { json } from '../route.ts'
import { answer, webhookIdOf } from './webhooks.ts'

const due: Answer = {
  description: 'The delivery, which is due now.',
  content: json(delivery),
}

/** The routes with which an account reads what was delivered to its webhooks, and asks for deliveries. */
export const deliveryRoutes: readonly Route<ApiParts>[] = [
  extensionRoute({
    method: 'POST',
    path: '/v1/webhooks/{webhook_id}/test',
    id: 'testWebhook',
    summary: 'Send a test event',
    description: 'Sends `webhook.test`, and repeats it like any other event.',
    params: { webhook_id: webhookId },
    answers: { 202: due },
    errors: ['webhook_not_found', 'webhook_disabled'],
    handler: (parts) => (context, caller) =>
      answer(context, parts.webhooks.test(caller, webhookIdOf(context)), 202, deliveryRecord),
  }),
  extensionRoute({
    method: 'GET',
    path: '/v1/webhooks/{webhook_id}/deliveries',
    id: 'listDeliveries',
    summary: 'List the deliveries of a webhook',
    description: 'Newest first. A delivery is kept as long as the record of its task.',
    params: { webhook_id: webhookId },
    input: deliveriesQuery,
    answers: { 200: { description: 'One page of deliveries.', content: json(deliveryList) } },
    errors: ['webhook_not_found'],
    handler: (parts) => async (context, caller, query) => {
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
    },
  }),
  extensionRoute({
    method: 'POST',
    path: '/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver',
    id: 'redeliver',
    summary: 'Deliver an event again',
    description:
      'Makes the delivery due now, with the same `webhook-id`, and starts its tries from the first.',
    params: { webhook_id: webhookId, delivery_id: deliveryId },
    answers: { 202: due },
    errors: ['webhook_not_found', 'delivery_not_found', 'webhook_disabled'],
    handler: (parts) => (context, caller) => {
      const deliveryId = deliveryIdOf(context)
      const asked = parts.webhooks.redeliver(caller, webhookIdOf(context), deliveryId)
      return answer(context, asked, 202, deliveryRecord)
    },
  }),
]

function deliveryIdOf({ params }: RouteContext): string {
  const { deliveryId = '' } = params
  return deliveryIdPattern.test(deliveryId) ? deliveryId : ''
}
