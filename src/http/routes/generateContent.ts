import type { ContentRoute } from '../../schema/contentRequest.ts'
import { isContentImagePath, parseContentRequest } from '../../schema/contentRequest.ts'
import type { AccountRoute } from '../authenticate.ts'
import { accountRoute } from '../authenticate.ts'
import { answerAsync } from '../answers/answerAsync.ts'
import { answerSync } from '../answers/answerSync.ts'
import { rateLimitUses } from '../answers/answerHeaders.ts'
import type { ApiParts } from '../apiParts.ts'
import type { Receive } from '../intake/submit.ts'
import { submitHandler } from '../intake/submit.ts'
import { idempotencyKey } from '../intake/idempotencyKey.ts'
import { receiveJson } from '../intake/receiveJson.ts'
import { contentResponse } from '../../schema/answers/nativeAnswer.ts'
import { contentRequest } from '../../schema/contentFields.ts'
import { modelField } from '../../schema/modelFields.ts'
import { submitErrors, syncErrors } from '../errorTable.ts'
import type { Route } from '../route.ts'
import { json } from '../route.ts'
import { submitTaskRoute } from './submitTask.ts'
import { syncImages } from './syncImages.ts'

const shared = {
  method: 'POST',
  params: { model: modelField('A') },
  headers: idempotencyKey,
  body: json(contentRequest),
} as const satisfies Partial<AccountRoute>

const generateContentRoute = accountRoute({
  ...shared,
  path: '/v1beta/models/{model}:generateContent',
  id: 'generateContent',
  summary: 'Generate or edit an image and wait for it',
  description:
    'Keeps the connection open until the image is finished. When the model rejects the request, the answer is its own 200 without an image.',
  answers: {
    200: {
      ...syncImages.answers[200],
      description: 'The native response of the model: the image, or why there is none.',
      content: json(contentResponse),
    },
  },
  errors: [...syncErrors, 'content_policy_violation'],
  errorHeaders: syncImages.errorHeaders,
  handler: submitHandler(receiveContent('v1beta.generateContent'), answerSync),
})

const asyncGenerateContentRoute = accountRoute({
  ...shared,
  path: '/v1beta/models/{model}:asyncGenerateContent',
  id: 'asyncGenerateContent',
  summary: 'Submit a task in the form of generateContent',
  description: 'Answers at once, as `POST /v1/images/tasks` does. Read the task with its lookup.',
  answers: submitTaskRoute.answers,
  errors: submitErrors,
  errorHeaders: rateLimitUses,
  handler: submitHandler(receiveContent('v1beta.asyncGenerateContent'), answerAsync),
})

/** The two routes, and the same two under the prefix that google-genai for Python calls. */
export const contentRoutes = [
  generateContentRoute,
  asyncGenerateContentRoute,
  underV1(generateContentRoute),
  underV1(asyncGenerateContentRoute),
]

function underV1(route: Route<ApiParts>): Route<ApiParts> {
  return {
    ...route,
    path: `/v1/models/{model}:${route.id}`,
    id: `${route.id}V1`,
    extension: true,
    description: `The same operation as \`${route.path}\`.`,
  }
}

/** Receives the body of one of the routes. */
function receiveContent(route: ContentRoute): Receive {
  return async (context, options) => {
    const received = await receiveJson(context, options, isContentImagePath, 'either')
    if (!received.ok) return received
    const { document, images } = received.value
    return parseContentRequest(route, context.params['model'] ?? '', document, images)
  }
}
