import { defined } from '../../domain/defined.ts'
import { fail, mapValue, succeed } from '../../domain/result.ts'
import { deliveryRecord } from '../../domain/webhooks/delivery.ts'
import { deliveryIdPattern } from '../../domain/webhooks/webhook.ts'
import { delivery, deliveryId, deliveryList, webhookId } from '../../schema/answers/webhook.ts'
import { invalidValue } from '../../schema/requestFailures.ts'
import { deliveriesQuery } from '../../schema/webhookRequest.ts'
import type { ApiParts, RouteContext } from '../context.ts'
import { jsonRoute } from '../extensionRoute.ts'
import type { Route } from '../route.ts'
import { webhookIdOf } from './webhooks.ts'

const due = [202, 'The delivery, which is due now.', delivery] as const

/** The routes with which an account reads what was delivered to its webhooks, and asks for deliveries. */
export const deliveryRoutes: readonly Route<ApiParts>[] = [
  jsonRoute({
    method: 'POST',
    path: '/v1/webhooks/{webhook_id}/test',
    id: 'testWebhook',
    summary: 'Send a test event',
    description: 'Sends `webhook.test`, and repeats it like any other event.',
    params: { webhook_id: webhookId },
    answer: due,
    errors: ['webhook_not_found', 'webhook_disabled'],
    run: async ({ webhooks }, { caller, context }) =>
      mapValue(await webhooks.test(caller, webhookIdOf(context)), deliveryRecord),
  }),
  jsonRoute({
    method: 'GET',
    path: '/v1/webhooks/{webhook_id}/deliveries',
    id: 'listDeliveries',
    summary: 'List the deliveries of a webhook',
    description: 'Newest first. A delivery is kept as long as the record of its task.',
    params: { webhook_id: webhookId },
    input: deliveriesQuery,
    answer: [200, 'One page of deliveries.', deliveryList],
    errors: ['webhook_not_found'],
    run: async ({ webhooks }, { caller, context, input }) => {
      const page = { limit: input.limit + 1, ...defined({ after: input.after }) }
      const listed = await webhooks.deliveries(caller, webhookIdOf(context), page)
      if (!listed.ok) {
        if (listed.failure.tag !== 'unknown_after') return fail(listed.failure)
        return fail(invalidValue('after', 'it is not the id of a delivery of this webhook'))
      }
      const data = listed.value.slice(0, input.limit).map(deliveryRecord)
      return succeed({ object: 'list', data, has_more: listed.value.length > input.limit })
    },
  }),
  jsonRoute({
    method: 'POST',
    path: '/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver',
    id: 'redeliver',
    summary: 'Deliver an event again',
    description:
      'Makes the delivery due now, with the same `webhook-id`, and starts its tries from the first.',
    params: { webhook_id: webhookId, delivery_id: deliveryId },
    answer: due,
    errors: ['webhook_not_found', 'delivery_not_found', 'webhook_disabled'],
    run: async ({ webhooks }, { caller, context }) => {
      const asked = await webhooks.redeliver(caller, webhookIdOf(context), deliveryIdOf(context))
      return mapValue(asked, deliveryRecord)
    },
  }),
]

function deliveryIdOf({ params }: RouteContext): string {
  const { deliveryId = '' } = params
  return deliveryIdPattern.test(deliveryId) ? deliveryId : ''
}
