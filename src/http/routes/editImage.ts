import { succeed } from '../../domain/result.ts'
import { editsForm, parseEditsRequest } from '../../schema/imagesRequest.ts'
import { answerSync } from '../answers/answerSync.ts'
import type { AccountHandler, ApiParts } from '../context.ts'
import type { Receive } from '../intake/acceptRequest.ts'
import { acceptRequest } from '../intake/acceptRequest.ts'
import { receiveForm } from '../intake/receiveForm.ts'
import type { Route } from '../route.ts'
import { syncImages } from './generateImage.ts'

export const editImageRoute: Route = {
  ...syncImages,
  path: '/v1/images/edits',
  id: 'editImage',
  summary: 'Edit one image and wait for the result',
  description:
    'Takes one source image of at most 20 MiB. For 1 to 16 images, submit a task with `action` `edit`.',
  body: { 'multipart/form-data': editsForm },
  handler: editImage,
}

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
