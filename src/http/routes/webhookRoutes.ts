import { defined } from '../../domain/defined.ts'
import { fail, mapValue, succeed } from '../../domain/result.ts'
import { listOf } from '../../domain/lists/list.ts'
import {
  deletedWebhook,
  delivery,
  deliveryId,
  deliveryList,
  webhook,
  webhookId,
  webhookList,
  webhookWithSecret,
} from '../../schema/answers/webhookAnswer.ts'
import { invalidValue } from '../../domain/requestFailures.ts'
import { deliveriesQuery, newWebhook, webhooksQuery } from '../../schema/webhookRequest.ts'
import type { ApiParts } from '../apiParts.ts'
import type { Route, RouteContext } from '../route.ts'
import { jsonRoute } from '../extensionRoute.ts'

/** What the routes of one webhook have in common. */
const ofWebhook = { params: { webhook_id: webhookId }, errors: ['webhook_not_found'] } as const

const due = [202, 'The delivery, which is due now.', delivery] as const

/** The routes with which an account manages its webhooks, reads what was delivered, and asks for deliveries. */
export const webhookRoutes: readonly Route<ApiParts>[] = [
  jsonRoute({
    method: 'POST',
    path: '/v1/webhooks',
    id: 'registerWebhook',
    summary: 'Register a webhook',
    description:
      'This answer alone contains the secret. An account has at most five webhooks. The address must be `https`, unless the operator allows private addresses.',
    input: newWebhook,
    answer: [201, 'The webhook and its secret.', webhookWithSecret],
    errors: ['too_many_webhooks'],
    run: async ({ webhooks }, { caller, input }) => {
      const why = webhooks.whyNotAddress(input.url)
      if (why !== undefined) return fail(invalidValue('url', why))
      return webhooks.register(caller, input)
    },
  }),
  jsonRoute({
    method: 'GET',
    path: '/v1/webhooks',
    id: 'listWebhooks',
    summary: 'List the webhooks of the account',
    input: webhooksQuery,
    answer: [200, 'Webhooks, newest first.', webhookList],
    run: async (parts, { caller, input: { limit, after } }) => {
      // There are at most five.
      const webhooks = await parts.webhooks.list(caller)
      const last = webhooks.findIndex(({ webhook_id }) => webhook_id === after)
      if (after !== undefined && last === -1) {
        return fail(invalidValue('after', 'the account has no webhook with this id'))
      }
      return succeed(listOf(webhooks.slice(last + 1), limit))
    },
  }),
  jsonRoute({
    method: 'GET',
    path: '/v1/webhooks/{webhook_id}',
    id: 'getWebhook',
    summary: 'Read a webhook',
    ...ofWebhook,
    answer: [200, 'The webhook.', webhook],
    run: ({ webhooks }, { caller, context }) => webhooks.read(caller, webhookIdOf(context)),
  }),
  jsonRoute({
    method: 'DELETE',
    path: '/v1/webhooks/{webhook_id}',
    id: 'deleteWebhook',
    summary: 'Delete a webhook',
    description:
      'Its pending deliveries end as failed. A try that was under way can still arrive in the next 15 seconds.',
    ...ofWebhook,
    answer: [200, 'The webhook is deleted.', deletedWebhook],
    run: async ({ webhooks }, { caller, context }) => {
      const webhookId = webhookIdOf(context)
      const deleted = () => ({ webhook_id: webhookId, deleted: true })
      return mapValue(await webhooks.remove(caller, webhookId), deleted)
    },
  }),
  jsonRoute({
    method: 'POST',
    path: '/v1/webhooks/{webhook_id}/rotate',
    id: 'rotateWebhookSecret',
    summary: 'Replace the secret of a webhook',
    description:
      'For 24 hours deliveries have two signatures, of the new and of the former secret.',
    ...ofWebhook,
    answer: [200, 'The webhook and its new secret.', webhookWithSecret],
    run: ({ webhooks }, { caller, context }) => webhooks.rotate(caller, webhookIdOf(context)),
  }),
  jsonRoute({
    method: 'POST',
    path: '/v1/webhooks/{webhook_id}/enable',
    id: 'enableWebhook',
    summary: 'Enable a disabled webhook',
    description:
      'What was pending when it was disabled has failed, and can be redelivered one by one. Tasks that ended ' +
      'while it was disabled have no delivery: read their records.',
    ...ofWebhook,
    answer: [200, 'The webhook.', webhook],
    run: ({ webhooks }, { caller, context }) => webhooks.enable(caller, webhookIdOf(context)),
  }),
  jsonRoute({
    method: 'POST',
    path: '/v1/webhooks/{webhook_id}/test',
    id: 'testWebhook',
    summary: 'Send a test event',
    description: 'Sends `webhook.test`, and repeats it like any other event.',
    ...ofWebhook,
    answer: due,
    errors: [...ofWebhook.errors, 'webhook_disabled', 'too_many_tests'],
    run: ({ webhooks }, { caller, context }) => webhooks.test(caller, webhookIdOf(context)),
  }),
  jsonRoute({
    method: 'GET',
    path: '/v1/webhooks/{webhook_id}/deliveries',
    id: 'listDeliveries',
    summary: 'List the deliveries of a webhook',
    description:
      'Newest first. A delivery is kept as long as the record of its task, one of money for 8 days.',
    ...ofWebhook,
    input: deliveriesQuery,
    answer: [200, 'One page of deliveries.', deliveryList],
    run: async ({ webhooks }, { caller, context, input }) => {
      const listed = await webhooks.deliveries(caller, webhookIdOf(context), defined(input))
      if (!listed.ok) return listed
      if (listed.value !== 'unknown_after') return succeed(listed.value)
      return fail(invalidValue('after', 'it is not the id of a delivery of this webhook'))
    },
  }),
  jsonRoute({
    method: 'POST',
    path: '/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver',
    id: 'redeliver',
    summary: 'Deliver an event again',
    description:
      'Makes the delivery due now, with the same `webhook-id`, and starts its tries from the first.',
    params: { ...ofWebhook.params, delivery_id: deliveryId },
    answer: due,
    errors: [...ofWebhook.errors, 'delivery_not_found', 'webhook_disabled'],
    run: ({ webhooks }, { caller, context }) =>
      webhooks.redeliver(caller, webhookIdOf(context), deliveryIdOf(context)),
  }),
]

function webhookIdOf({ params: { webhookId = '' } }: RouteContext): string {
  return webhookId
}

function deliveryIdOf({ params: { deliveryId = '' } }: RouteContext): string {
  return deliveryId
}
