import type { Result } from '../../domain/result.ts'
import { fail, succeed } from '../../domain/result.ts'
import { parseEditsRequest } from '../../schema/imagesRequest.ts'
import { answerSync } from '../answers/answerSync.ts'
import type { AccountHandler, ApiContext, ApiParts } from '../context.ts'
import type { HttpFailure } from '../errors.ts'
import type { Receive } from '../intake/acceptRequest.ts'
import { acceptRequest } from '../intake/acceptRequest.ts'
import type { OpenBodyOptions } from '../intake/body.ts'
import { openBody } from '../intake/body.ts'
import { failureOfBodyError } from '../intake/bodyFailure.ts'
import { checkFormType } from '../intake/mediaType.ts'
import type { EditsForm } from '../intake/readForm.ts'
import { readForm } from '../intake/readForm.ts'
import type { Staging } from '../intake/staging.ts'

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
