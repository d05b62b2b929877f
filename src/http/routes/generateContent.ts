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
