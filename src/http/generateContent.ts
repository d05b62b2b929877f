import type { Caller } from '../domain/caller.ts'
import type { Result } from '../domain/result.ts'
import type { ContentRoute } from '../schema/contentRequest.ts'
import {
  isContentImagePath,
  parseContentModel,
  parseContentRequest,
} from '../schema/contentRequest.ts'
import type { Accepted } from '../tasks/taskService.ts'
import { acceptRequest } from './acceptRequest.ts'
import { answerSync } from './answerSync.ts'
import type { AccountHandler, RouteContext } from './apiContext.ts'
import type { ApiParts } from './apiParts.ts'
import type { HttpFailure } from './httpFailure.ts'
import { receiveJson } from './receiveJson.ts'
import { sendAccepted } from './sendAccepted.ts'

/** Spec: `POST /v1beta/models/{model}:generateContent`; the native body is the answer. */
export function generateContent(parts: ApiParts): AccountHandler {
  return async (context, caller) => {
    const accepted = await acceptContent(context, caller, parts, 'v1beta.generateContent')
    return accepted.ok ? answerSync(context, parts, accepted.value) : accepted.failure
  }
}

/** Spec: `POST /v1beta/models/{model}:asyncGenerateContent`; answers as submit does. */
export function asyncGenerateContent(parts: ApiParts): AccountHandler {
  return async (context, caller) => {
    const accepted = await acceptContent(context, caller, parts, 'v1beta.asyncGenerateContent')
    if (!accepted.ok) return accepted.failure
    sendAccepted(context, accepted.value, parts.config.publicUrl)
    return undefined
  }
}

async function acceptContent(
  context: RouteContext,
  caller: Caller,
  parts: ApiParts,
  route: ContentRoute,
): Promise<Result<Accepted, HttpFailure>> {
  const model = parseContentModel(context.params['model'] ?? '')
  if (!model.ok) return model
  return acceptRequest(context, caller, parts, async (staging, options) => {
    const received = await receiveJson(context, options, isContentImagePath, staging)
    if (!received.ok) return received
    const { document, images } = received.value
    return parseContentRequest(route, model.value, document, images)
  })
}
