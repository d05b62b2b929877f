import type { Caller } from '../../domain/accounts/account.ts'
import type { ContentRoute } from '../../schema/contentRequest.ts'
import {
  isContentImagePath,
  parseContentModel,
  parseContentRequest,
} from '../../schema/contentRequest.ts'
import { answerAsync } from '../answers/answerAsync.ts'
import { answerSync } from '../answers/answerSync.ts'
import type { AccountHandler, ApiParts, RouteContext, HttpFailure } from '../context.ts'
import type { AnswerAccepted, Receive } from '../intake/acceptRequest.ts'
import { acceptRequest } from '../intake/acceptRequest.ts'
import { receiveJson } from '../intake/receiveJson.ts'
import { familyAModels } from '../../domain/models/models.ts'
import { contentResponse } from '../../schema/answers/contentResponse.ts'
import { contentRequest } from '../../schema/contentFields.ts'
import { idempotencyKey } from '../../schema/idempotencyKey.ts'
import { syncErrors } from '../errorExamples.ts'
import type { Route } from '../route.ts'
import { json } from '../route.ts'
import { submitTaskRoute } from './submitTask.ts'
import { syncImages } from './generateImage.ts'
import { z } from 'zod'

const shared = {
  method: 'POST',
  tag: 'Content generation',
  access: 'account',
  envelope: 'full',
  params: { model: z.enum(familyAModels) },
  headers: idempotencyKey,
  body: json(contentRequest),
} as const satisfies Partial<Route>

const generateContentRoute: Route = {
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
  handler: generateContent,
}

const asyncGenerateContentRoute: Route = {
  ...shared,
  path: '/v1beta/models/{model}:asyncGenerateContent',
  id: 'asyncGenerateContent',
  summary: 'Submit a task in the form of generateContent',
  description: 'Answers at once, as `POST /v1/images/tasks` does. Read the task with its lookup.',
  answers: submitTaskRoute.answers,
  errors: submitTaskRoute.errors,
  handler: asyncGenerateContent,
}

/** The two routes, and the same two under the prefix that google-genai for Python calls. */
export const contentRoutes: readonly Route[] = [
  generateContentRoute,
  asyncGenerateContentRoute,
  underV1(generateContentRoute),
  underV1(asyncGenerateContentRoute),
]

function underV1(route: Route): Route {
  return {
    ...route,
    path: `/v1/models/{model}:${route.id}`,
    id: `${route.id}V1`,
    extension: true,
    description: `The same operation as \`${route.path}\`.`,
  }
}

/**
 * `POST /v1beta/models/{model}:generateContent`: answers with the native response when the task has ended.
 */
export function generateContent(parts: ApiParts): AccountHandler {
  return (context, caller) => {
    const answer = answerSync(context, parts)
    return acceptContent(context, caller, parts, 'v1beta.generateContent', answer)
  }
}

/** `POST /v1beta/models/{model}:asyncGenerateContent`: answers at once with the id of the task. */
export function asyncGenerateContent(parts: ApiParts): AccountHandler {
  return (context, caller) => {
    const answer = answerAsync(context, parts)
    return acceptContent(context, caller, parts, 'v1beta.asyncGenerateContent', answer)
  }
}

async function acceptContent(
  context: RouteContext,
  caller: Caller,
  parts: ApiParts,
  route: ContentRoute,
  answer: AnswerAccepted,
): Promise<HttpFailure | undefined> {
  const model = parseContentModel(context.params['model'] ?? '')
  if (!model.ok) return model.failure
  const receive: Receive = async (options) => {
    const received = await receiveJson(context, options, isContentImagePath, 'either')
    if (!received.ok) return received
    const { document, images } = received.value
    return parseContentRequest(route, model.value, document, images)
  }
  return acceptRequest(context, caller, parts, receive, answer)
}
