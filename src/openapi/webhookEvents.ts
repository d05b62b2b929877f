import type { ZodOpenApiObject } from 'zod-openapi'
import { examples } from './examples.ts'
import { deliveryHeaders, taskEvent, testEvent } from '../schema/answers/webhook.ts'

/** Returns the section `webhooks` of the OpenAPI document: what receivers get, and how they answer. */
export function webhookEventsObject(): NonNullable<ZodOpenApiObject['webhooks']> {
  return {
    taskEnded: eventObject('taskEnded', 'A task has ended', taskEvent, {
      succeeded: examples.taskSucceededEvent,
      failed: examples.taskFailedEvent,
    }),
    webhookTest: eventObject('webhookTest', 'A test was asked for', testEvent, {
      test: examples.webhookTestEvent,
    }),
  }
}

function eventObject(
  id: string,
  summary: string,
  schema: typeof taskEvent | typeof testEvent,
  named: Readonly<Record<string, object>>,
): NonNullable<ZodOpenApiObject['webhooks']>[string] {
  return {
    post: {
      operationId: id,
      tags: ['Webhooks'],
      summary,
      description:
        'Signed as Standard Webhooks says. Any 2xx counts as received. Everything else, and no answer within 15 seconds, is repeated for 75 hours. 410 disables the webhook.',
      'x-darkroom-extension': true,
      security: [],
      requestParams: { header: deliveryHeaders },
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema,
            examples: Object.fromEntries(
              Object.entries(named).map(([name, value]) => [name, { value }]),
            ),
          },
        },
      },
      responses: {
        '2XX': { description: 'Received. The body is not read.' },
        '410': { description: 'Disables the webhook.' },
      },
    },
  }
}
