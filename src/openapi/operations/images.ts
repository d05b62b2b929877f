import { z } from 'zod'
import { acceptErrors, endErrors, jsonBodyErrors } from '../errorCatalog.ts'
import { examples } from '../examples.ts'
import type { Answer, Operation } from '../operation.ts'
import { json } from '../operation.ts'
import { linksToTask } from '../links.ts'
import { idempotencyKey } from '../parameters.ts'
import { imagesResponse } from '../../schema/answers/imagesResponse.ts'
import { editsFields, generationsRequest } from '../../schema/imagesRequest.ts'

const finished: Answer = {
  description: 'The finished image.',
  headers: {
    Location: 'always',
    'X-Task-Id': 'always',
    'Idempotent-Replayed': 'sometimes',
    'X-Credits-Charged': 'always',
  },
  content: json(imagesResponse, { image: examples.imagesResponse }),
  links: linksToTask('$response.header.X-Task-Id'),
}

const shared = {
  method: 'post',
  tag: 'Synchronous images',
  access: 'account',
  envelope: 'full',
  answers: { 200: finished },
  errors: [...jsonBodyErrors, ...acceptErrors, ...endErrors, 'moderation_blocked'],
  errorHeaders: {
    Location: 'sometimes',
    'X-Task-Id': 'sometimes',
    'Idempotent-Replayed': 'sometimes',
  },
} as const satisfies Partial<Operation>

export const generateImage: Operation = {
  ...shared,
  path: '/v1/images/generations',
  id: 'generateImage',
  summary: 'Generate an image and wait for it',
  description:
    'Keeps the connection open until the image is finished. When the call ends before, the task continues: its id is in `X-Task-Id`.',
  request: {
    headers: idempotencyKey,
    body: json(generationsRequest, { generation: examples.generation }),
  },
}

export const editImage: Operation = {
  ...shared,
  path: '/v1/images/edits',
  id: 'editImage',
  summary: 'Edit one image and wait for the result',
  description:
    'Takes one source image of at most 20 MiB. For 1 to 16 images, submit a task with `action` `edit`.',
  request: {
    headers: idempotencyKey,
    body: {
      'multipart/form-data': {
        schema: editsFields
          .extend({
            image: z.string().meta({
              description: 'A PNG, JPEG or WebP file. Its type is read from its bytes.',
              format: 'binary',
            }),
          })
          .meta({ id: 'EditsForm' }),
      },
    },
  },
}
