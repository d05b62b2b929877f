import { succeed } from '../../domain/result.ts'
import { parseGenerationsRequest } from '../../schema/imagesRequest.ts'
import { answerSync } from '../answers/answerSync.ts'
import type { AccountHandler, ApiParts } from '../context.ts'
import type { Receive } from '../intake/acceptRequest.ts'
import { acceptRequest } from '../intake/acceptRequest.ts'
import { receiveJson } from '../intake/receiveJson.ts'

/** Spec: `POST /v1/images/generations`. */
export function generateImage(parts: ApiParts): AccountHandler {
  return async (context, caller) => {
    const receive: Receive = async (staging, options) => {
      const received = await receiveJson(context, options, () => false, staging)
      if (!received.ok) return received
      const request = parseGenerationsRequest(received.value.document)
      return request.ok ? succeed({ request: request.value }) : request
    }
    return acceptRequest(context, caller, parts, receive, answerSync(context, parts))
  }
}
