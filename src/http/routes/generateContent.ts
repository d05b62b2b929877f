import type { ContentRoute } from '../../schema/contentRequest.ts'
import { isContentImagePath, parseContentRequest } from '../../schema/contentRequest.ts'
import type { AccountRoute } from '../authenticate.ts'
import { accountRoute } from '../authenticate.ts'
import { answerAsync } from '../answers/answerAsync.ts'
import { answerSync } from '../answers/answerSync.ts'
import { contentArray, contentEvents } from '../answers/streamForms.ts'
import { rateLimitUses } from '../answers/answerHeaders.ts'
import type { ApiParts } from '../apiParts.ts'
import type { Receive } from '../intake/submit.ts'
import { submitHandler } from '../intake/submit.ts'
import { idempotencyKey } from '../intake/idempotencyKey.ts'
import { queryOf } from '../intake/receiveInput.ts'
import { receiveJson } from '../intake/receiveJson.ts'
import { succeed } from '../../domain/result.ts'
import { contentResponse, contentStreamError } from '../../schema/answers/nativeAnswer.ts'
import { contentRequest } from '../../schema/contentFields.ts'
import { modelField } from '../../schema/modelFields.ts'
import { parseQuery } from '../../schema/parseFields.ts'
import { contentStreamQuery } from '../../schema/queries.ts'
import { submitErrors, syncErrors } from '../errorTable.ts'
import type { Route } from '../route.ts'
import { json } from '../route.ts'
import { submitTaskRoute } from './submitTask.ts'
import { headersOfTask, syncImages } from './syncImages.ts'
import { z } from 'zod'

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
      description: 'The native response of the model: the image, or why there is none.',
      headers: [...headersOfTask, 'X-Credits-Charged'],
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

const receiveStreamed: Receive = async (context, options) => {
  const query = parseQuery(contentStreamQuery, queryOf(context))
  if (!query.ok) return query
  const received = await receiveContent('v1beta.generateContent')(context, options)
  const stream = query.value.alt === 'sse' ? contentEvents : contentArray
  return received.ok ? succeed({ ...received.value, stream }) : received
}

const streamGenerateContentRoute = accountRoute({
  ...shared,
  path: '/v1beta/models/{model}:streamGenerateContent',
  id: 'streamGenerateContent',
  summary: 'Generate or edit an image and wait for it in a stream',
  description:
    'The same request as `:generateContent`, with the same key too. The answer is one event, or an array with one item: the native response of the model. Before it there are white space and blank lines, so that nothing on the way takes a long wait for a dead connection. What fails within 5 s has its own status, and later the event is `error` as Google writes it, with our code as `reason`.',
  extension: true,
  query: contentStreamQuery,
  answers: {
    200: {
      description: 'The native response of the model: the image, or why there is none.',
      headers: [...headersOfTask, 'X-Credits-Charged?', 'X-Accel-Buffering'],
      content: {
        ...json(z.array(z.union([contentResponse, contentStreamError])).length(1)),
        'text/event-stream': z.unknown().meta({
          description: 'With `alt=sse`: one event without a name. `data` is that item.',
        }),
      },
    },
  },
  errors: [...syncErrors, 'content_policy_violation'],
  errorHeaders: syncImages.errorHeaders,
  handler: submitHandler(receiveStreamed, answerSync),
})

/** The three routes, and the same three under the prefix that google-genai for Python calls. */
export const contentRoutes = [
  generateContentRoute,
  asyncGenerateContentRoute,
  streamGenerateContentRoute,
  underV1(generateContentRoute),
  underV1(asyncGenerateContentRoute),
  underV1(streamGenerateContentRoute),
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
