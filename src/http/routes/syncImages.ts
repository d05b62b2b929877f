import {
  editsForm,
  generationsRequest,
  parseEditsRequest,
  parseGenerationsRequest,
} from '../../schema/imagesRequest.ts'
import type { AccountRoute } from '../authenticate.ts'
import { accountRoute } from '../authenticate.ts'
import { answerSync } from '../answers/answerSync.ts'
import { rateLimitUses } from '../answers/answerHeaders.ts'
import type { Receive } from '../intake/submit.ts'
import { submitHandler } from '../intake/submit.ts'
import { idempotencyKey } from '../intake/idempotencyKey.ts'
import { receiveForm } from '../intake/receiveForm.ts'
import { receiveJson } from '../intake/receiveJson.ts'
import { imagesResponse } from '../../schema/answers/nativeAnswer.ts'
import { syncErrors } from '../errorTable.ts'
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

const receiveGeneration: Receive = async (context, options) => {
  const received = await receiveJson(context, options, () => false)
  return received.ok ? parseGenerationsRequest(received.value.document) : received
}

export const generateImageRoute = accountRoute({
  ...syncImages,
  path: '/v1/images/generations',
  id: 'generateImage',
  summary: 'Generate an image and wait for it',
  description:
    'Keeps the connection open until the image is finished. When the call ends before, the task continues: its id is in `X-Task-Id`.',
  body: json(generationsRequest),
  handler: submitHandler(receiveGeneration, answerSync),
})

const receiveEdit: Receive = async (context, options) => {
  const received = await receiveForm(context, options)
  return received.ok ? parseEditsRequest(received.value.fields, received.value.image) : received
}

export const editImageRoute = accountRoute({
  ...syncImages,
  path: '/v1/images/edits',
  id: 'editImage',
  summary: 'Edit one image and wait for the result',
  description:
    'Takes one source image of at most 20 MiB. For 1 to 16 images, submit a task with `action` `edit`.',
  body: { 'multipart/form-data': editsForm },
  handler: submitHandler(receiveEdit, answerSync),
})
