import { z } from 'zod'
import { familyAModels } from '../../domain/models/models.ts'
import { acceptErrors, endErrors, jsonBodyErrors } from '../errorCatalog.ts'
import { examples } from '../examples.ts'
import type { Operation } from '../operation.ts'
import { json } from '../operation.ts'
import { linksToTask } from '../links.ts'
import { idempotencyKey } from '../parameters.ts'
import { submitTask } from './tasks.ts'
import { contentResponse } from '../../schema/answers/contentResponse.ts'
import { contentRequest } from '../../schema/contentFields.ts'

const shared = {
  method: 'post',
  tag: 'Content generation',
  access: 'account',
  envelope: 'full',
  request: {
    path: z.object({ model: z.enum(familyAModels) }),
    headers: idempotencyKey,
    body: json(contentRequest, { Generate: examples.content, Edit: examples.contentEdit }),
  },
} as const satisfies Partial<Operation>

const generateContent: Operation = {
  ...shared,
  path: '/v1beta/models/{model}:generateContent',
  id: 'generateContent',
  summary: 'Generate or edit an image and wait for it',
  description:
    'Keeps the connection open until the image is finished. When the model rejects the request, the answer is its own 200 without an image.',
  answers: {
    200: {
      description: 'The native response of the model: the image, or why there is none.',
      headers: {
        Location: 'always',
        'X-Task-Id': 'always',
        'Idempotent-Replayed': 'sometimes',
        'X-Credits-Charged': 'always',
      },
      content: json(contentResponse, {
        image: examples.contentResponse,
        rejection: examples.contentRejection,
      }),
      links: linksToTask('$response.header.X-Task-Id'),
    },
  },
  errors: [...jsonBodyErrors, ...acceptErrors, ...endErrors, 'content_policy_violation'],
  errorHeaders: {
    Location: 'sometimes',
    'X-Task-Id': 'sometimes',
    'Idempotent-Replayed': 'sometimes',
  },
}

const asyncGenerateContent: Operation = {
  ...shared,
  path: '/v1beta/models/{model}:asyncGenerateContent',
  id: 'asyncGenerateContent',
  summary: 'Submit a task in the form of generateContent',
  description: 'Answers at once, as `POST /v1/images/tasks` does. Read the task with its lookup.',
  answers: submitTask.answers,
  errors: submitTask.errors,
}

/** The two operations, and the same two under the prefix that google-genai for Python calls. */
export const contentOperations: readonly Operation[] = [
  generateContent,
  asyncGenerateContent,
  underV1(generateContent),
  underV1(asyncGenerateContent),
]

function underV1(operation: Operation): Operation {
  return {
    ...operation,
    path: `/v1/models/{model}:${operation.id}`,
    id: `${operation.id}V1`,
    extension: true,
    description: `The same operation as \`${operation.path}\`.`,
  }
}
