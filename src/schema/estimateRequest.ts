import type { RequestFailure } from '../domain/failure.ts'
import { inputImagesMax, inputImagesMin } from '../domain/limits.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import type { AskedRequest, ReceivedImage } from '../domain/tasks/imageRequest.ts'
import { z } from 'zod'
import { parseBody } from './parseFields.ts'
import { checkRules, inputImage, requestOf, taskFields } from './taskRequest.ts'
import { wrongImage } from './wrongImage.ts'

/** The body of `POST /v1/estimate`: that of a submit, whose images may leave out their data. */
export const estimateRequest = taskFields
  .extend({
    input_images: z
      .array(inputImage.partial({ data: true }).meta({ id: 'EstimatedImage' }))
      .min(inputImagesMin)
      .max(inputImagesMax)
      .optional(),
  })
  .superRefine(checkRules)
  .meta({
    id: 'EstimateRequest',
    description: 'The body of a submit. `data` of its images may be left out.',
    example: {
      model: 'familyb-image-2-vip',
      action: 'edit',
      prompt: 'At night',
      input_images: [{ mime_type: 'image/png' }],
    },
  })

/**
 * Checks the form of the body of `POST /v1/estimate`, as that of a submit is checked. `images` are those that have their
 * data. In the request all are as if they were empty, because nothing but their number counts.
 */
export function parseEstimateRequest(
  document: unknown,
  images: readonly ReceivedImage[],
): Result<AskedRequest, RequestFailure> {
  const parsed = parseBody(estimateRequest, document)
  if (!parsed.ok) return parsed
  const declared = (parsed.value.input_images ?? []).map(({ mime_type }) => mime_type)
  const ofImages = images.map(({ path }) => declared[Number(path[1])])
  const wrong = wrongImage(ofImages, images)
  if (wrong !== undefined) return fail(wrong)
  const empty = { blobKey: '', bytes: 0, sha256: '' }
  const inputs = declared.map((mimeType) => ({ ...empty, mimeType }))
  return succeed(requestOf(parsed.value, inputs))
}
