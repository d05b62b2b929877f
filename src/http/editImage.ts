import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import { parseEditsRequest } from '../schema/imagesRequest.ts'
import type { Receive } from './acceptRequest.ts'
import { acceptRequest } from './acceptRequest.ts'
import { answerSync } from './answerSync.ts'
import type { AccountHandler, ApiContext } from './apiContext.ts'
import type { ApiParts } from './apiParts.ts'
import { failureOfBodyError } from './bodyFailure.ts'
import type { HttpFailure } from './httpFailure.ts'
import { checkFormType } from './mediaType.ts'
import type { OpenBodyOptions } from './openBody.ts'
import { openBody } from './openBody.ts'
import type { EditsForm } from './readForm.ts'
import { readForm } from './readForm.ts'
import type { Staging } from './staging.ts'

/** Spec: `POST /v1/images/edits`. */
export function editImage(parts: ApiParts): AccountHandler {
  return async (context, caller) => {
    const receive: Receive = async (staging, options) => {
      const form = await receiveForm(context, options, staging)
      if (!form.ok) return form
      const request = parseEditsRequest(form.value.fields, form.value.image)
      return request.ok ? succeed({ request: request.value }) : request
    }
    return acceptRequest(context, caller, parts, receive, answerSync(context, parts))
  }
}

async function receiveForm(
  context: ApiContext,
  options: OpenBodyOptions,
  staging: Staging,
): Promise<Result<EditsForm, HttpFailure>> {
  const contentType = context.req.headers['content-type'] ?? ''
  const wrongType = checkFormType(contentType)
  if (wrongType !== undefined) return fail(wrongType)
  const body = await openBody(context, options)
  if (!body.ok) return body
  try {
    const form = await readForm(body.value.content, contentType, (image) =>
      staging.take(image, { path: ['image'], index: 0 }),
    )
    return form.ok ? form : fail(await body.value.refusal(form.failure))
  } catch (error) {
    return fail(failureOfBodyError(error))
  } finally {
    body.value.close()
  }
}
