import { succeed } from '../../domain/result.ts'
import { parseGenerationsRequest } from '../../schema/imagesRequest.ts'
import { answerSync } from '../answers/answerSync.ts'
import type { AccountHandler, ApiParts } from '../context.ts'
import type { Receive } from '../intake/acceptRequest.ts'
import { acceptRequest } from '../intake/acceptRequest.ts'
import { receiveJson } from '../intake/receiveJson.ts'

/** `POST /v1/images/generations`: answers with the image when it is finished. */
export function generateImage(parts: ApiParts): AccountHandler {
  return (context, caller) => {
    const receive: Receive = async (options) => {
      const received = await receiveJson(context, options, () => false)
      if (!received.ok) return received
      const request = parseGenerationsRequest(received.value.document)
      return request.ok ? succeed({ request: request.value }) : request
    }
    return acceptRequest(context, caller, parts, receive, answerSync(context, parts))
  }
}
