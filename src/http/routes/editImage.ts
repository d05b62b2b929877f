import { succeed } from '../../domain/result.ts'
import { parseEditsRequest } from '../../schema/imagesRequest.ts'
import { answerSync } from '../answers/answerSync.ts'
import type { AccountHandler, ApiParts } from '../context.ts'
import type { Receive } from '../intake/acceptRequest.ts'
import { acceptRequest } from '../intake/acceptRequest.ts'
import { receiveForm } from '../intake/receiveForm.ts'

/** `POST /v1/images/edits`: answers with the image when it is finished. */
export function editImage(parts: ApiParts): AccountHandler {
  return (context, caller) => {
    const receive: Receive = async (options) => {
      const received = await receiveForm(context, options)
      if (!received.ok) return received
      const { fields, image } = received.value
      const request = parseEditsRequest(fields, image)
      return request.ok ? succeed({ request: request.value }) : request
    }
    return acceptRequest(context, caller, parts, receive, answerSync(context, parts))
  }
}
