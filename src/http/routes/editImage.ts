import { succeed } from '../../domain/result.ts'
import { editsForm, parseEditsRequest } from '../../schema/imagesRequest.ts'
import { accountRoute } from '../authenticate.ts'
import { answerSync } from '../answers/answerSync.ts'
import type { Receive } from '../intake/acceptTask.ts'
import { acceptTask } from '../intake/acceptTask.ts'
import { receiveForm } from '../intake/receiveForm.ts'
import { syncImages } from './generateImage.ts'

export const editImageRoute = accountRoute({
  ...syncImages,
  path: '/v1/images/edits',
  id: 'editImage',
  summary: 'Edit one image and wait for the result',
  description:
    'Takes one source image of at most 20 MiB. For 1 to 16 images, submit a task with `action` `edit`.',
  body: { 'multipart/form-data': editsForm },
  handler: acceptTask(receiveEdit, answerSync),
})

async function receiveEdit(...[context, options]: Parameters<Receive>): ReturnType<Receive> {
  const received = await receiveForm(context, options)
  if (!received.ok) return received
  const request = parseEditsRequest(received.value.fields, received.value.image)
  return request.ok ? succeed({ request: request.value }) : request
}
