import { z } from 'zod'
import { defined } from '../domain/defined.ts'
import type { ImageRequest, ReceivedImage } from '../domain/imageRequest.ts'
import { familyBModels, pixelSizes, qualities } from '../domain/models.ts'
import type { RequestFailure } from '../domain/failure.ts'
import { invalidRequest } from '../domain/failure.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import { firstFailure } from './requestFailures.ts'

const shared = {
  model: z.enum(familyBModels),
  prompt: z.string().min(1),
  size: z.enum(pixelSizes).optional(),
  quality: z.enum(qualities).optional(),
}

/** Spec: the body of `POST /v1/images/generations`. */
const generationsRequest = z.strictObject({ ...shared, n: z.literal(1).optional() })

/** Spec: the text fields of `POST /v1/images/edits`; in a form every value is text. */
export const editsFields = z.strictObject({ ...shared, n: z.literal('1').optional() })

export function parseGenerationsRequest(document: unknown): Result<ImageRequest, RequestFailure> {
  const parsed = generationsRequest.safeParse(document)
  if (!parsed.success) return fail(firstFailure(parsed.error, document))
  return succeed({
    ...common(parsed.data),
    route: 'images.generations',
    action: 'generate',
    inputs: [],
  })
}

/** `image` is absent when the form had none. The form's own idea of its type is not asked for. */
export function parseEditsRequest(
  fields: Readonly<Record<string, string>>,
  image: ReceivedImage | undefined,
): Result<ImageRequest, RequestFailure> {
  const parsed = editsFields.safeParse(fields)
  if (!parsed.success) return fail(firstFailure(parsed.error, fields))
  if (image === undefined) {
    const message = "Missing required parameter: 'image'."
    return fail(invalidRequest('missing_required_parameter', 'image', message))
  }
  const { blobKey, bytes, sha256, sniffedType } = image
  if (sniffedType === undefined) {
    const message = "Invalid image in 'image': the bytes are not a whole PNG, JPEG or WebP image."
    return fail(invalidRequest('invalid_image', 'image', message))
  }
  return succeed({
    ...common(parsed.data),
    route: 'images.edits',
    action: 'edit',
    inputs: [{ blobKey, mimeType: sniffedType, bytes, sha256 }],
  })
}

type Common = Pick<ImageRequest, 'family' | 'model' | 'size' | 'quality' | 'body'>

function common(request: Omit<z.infer<typeof generationsRequest>, 'n'>): Common {
  const { model, prompt, size, quality } = request
  return {
    family: 'B',
    model,
    ...defined({ size, quality }),
    body: { kind: 'prompt', prompt },
  }
}
