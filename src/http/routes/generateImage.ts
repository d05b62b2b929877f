import { succeed } from '../../domain/result.ts'
import { generationsRequest, parseGenerationsRequest } from '../../schema/imagesRequest.ts'
import type { AccountRoute } from '../authenticate.ts'
import { accountRoute } from '../authenticate.ts'
import { answerSync } from '../answers/answerSync.ts'
import { rateLimitUses } from '../answers/rateLimit.ts'
import type { Receive } from '../intake/acceptTask.ts'
import { acceptTask } from '../intake/acceptTask.ts'
import { receiveJson } from '../intake/receiveJson.ts'
import { imagesResponse } from '../../schema/answers/imagesResponse.ts'
import { idempotencyKey } from '../../schema/idempotencyKey.ts'
import { syncErrors } from '../errorNames.ts'
import { json } from '../route.ts'

/** What the two synchronous routes of family B have in common. */
export const syncImages = {
  method: 'POST',
  headers: idempotencyKey,
  answers: {
    200: {
      description: 'The finished image.',
      headers: [
        'Location',
        'X-Task-Id',
        'Idempotent-Replayed?',
        'X-Credits-Charged',
        ...rateLimitUses,
      ],
      content: json(imagesResponse),
    },
  },
  errors: [...syncErrors, 'moderation_blocked'],
  errorHeaders: ['Location?', 'X-Task-Id?', 'Idempotent-Replayed?', ...rateLimitUses],
} as const satisfies Partial<AccountRoute>

export const generateImageRoute = accountRoute({
  ...syncImages,
  path: '/v1/images/generations',
  id: 'generateImage',
  summary: 'Generate an image and wait for it',
  description:
    'Keeps the connection open until the image is finished. When the call ends before, the task continues: its id is in `X-Task-Id`.',
  body: json(generationsRequest),
  handler: acceptTask(receiveGeneration, answerSync),
})

async function receiveGeneration(...[context, options]: Parameters<Receive>): ReturnType<Receive> {
  const received = await receiveJson(context, options, () => false)
  if (!received.ok) return received
  const request = parseGenerationsRequest(received.value.document)
  return request.ok ? succeed({ request: request.value }) : request
}
