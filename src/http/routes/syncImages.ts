import {
  editsForm,
  generationsRequest,
  parseEditsRequest,
  parseGenerationsRequest,
} from '../../schema/imagesRequest.ts'
import type { AccountRoute } from '../authenticate.ts'
import { accountRoute } from '../authenticate.ts'
import { answerSync } from '../answers/answerSync.ts'
import type { HeaderUse } from '../answers/answerHeaders.ts'
import { rateLimitUses } from '../answers/answerHeaders.ts'
import type { StreamForm } from '../answers/streamForms.ts'
import { imageEvents } from '../answers/streamForms.ts'
import type { Receive } from '../intake/submit.ts'
import { submitHandler } from '../intake/submit.ts'
import { idempotencyKey } from '../intake/idempotencyKey.ts'
import { receiveForm } from '../intake/receiveForm.ts'
import { receiveJson } from '../intake/receiveJson.ts'
import { imagesResponse } from '../../schema/answers/nativeAnswer.ts'
import { syncErrors } from '../errorTable.ts'
import { json } from '../route.ts'
import { succeed } from '../../domain/result.ts'
import { z } from 'zod'

const streamedImage = z.unknown().meta({
  description:
    'With `stream`: one event, `image_generation.completed` or `image_edit.completed`, or `error` with `task_id`, `should_retry` and maybe `retry_after` in `error`. Before it a comment every 10 s. What fails within 5 s has its own status.',
})

/** The headers of every answer with an image that the client waited for. */
export const headersOfTask = [
  'Location',
  'X-Task-Id',
  'Idempotent-Replayed?',
  ...rateLimitUses,
] as const satisfies readonly HeaderUse[]

/** What the two synchronous routes of family B have in common. */
export const syncImages = {
  method: 'POST',
  headers: idempotencyKey,
  answers: {
    200: {
      description: 'The finished image.',
      // A stream that begins before its task has ended cannot say what it costs. Its event does.
      headers: [...headersOfTask, 'X-Credits-Charged?', 'X-Accel-Buffering?'],
      content: { ...json(imagesResponse), 'text/event-stream': streamedImage },
    },
  },
  errors: [...syncErrors, 'moderation_blocked'],
  errorHeaders: ['Location?', 'X-Task-Id?', 'Idempotent-Replayed?', ...rateLimitUses],
} as const satisfies Partial<AccountRoute>

const receiveGeneration: Receive = async (context, options) => {
  const received = await receiveJson(context, options, () => false)
  if (!received.ok) return received
  return withForm(parseGenerationsRequest(received.value.document), imageEvents('image_generation'))
}

export const generateImageRoute = accountRoute({
  ...syncImages,
  path: '/v1/images/generations',
  id: 'generateImage',
  summary: 'Generate an image and wait for it',
  description:
    'Keeps the connection open until the image is finished. When the call ends before, the task continues: its id is in `X-Task-Id`. With `stream`, nothing on the way takes a long wait for a dead connection.',
  body: json(generationsRequest),
  handler: submitHandler(receiveGeneration, answerSync),
})

const receiveEdit: Receive = async (context, options) => {
  const received = await receiveForm(context, options)
  if (!received.ok) return received
  const { fields, image } = received.value
  return withForm(parseEditsRequest(fields, image), imageEvents('image_edit'))
}

/** Adds the form of the stream, if the client asks for one. */
function withForm(
  parsed: ReturnType<typeof parseEditsRequest>,
  form: StreamForm,
): Awaited<ReturnType<Receive>> {
  if (!parsed.ok) return parsed
  const { request, isStreamed } = parsed.value
  return succeed({ request, stream: isStreamed ? form : undefined })
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
