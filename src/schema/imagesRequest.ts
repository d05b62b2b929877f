import { z } from 'zod'
import { defined } from '../domain/defined.ts'
import type { RequestFailure } from '../domain/failure.ts'
import { familyBModels, pixelSizes, qualities } from '../domain/models/models.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import type { ImageRequest, ReceivedImage } from '../domain/tasks/imageRequest.ts'
import { firstFailure, invalidImage, missingParameter, notAnImage } from './requestFailures.ts'

/** Validates the body of `POST /v1/images/generations`. */
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

/**
 * Validates the form of `POST /v1/images/edits`. `image` is `undefined` when the form has no image. The type
 * of the image comes from its bytes, because clients often declare a wrong type or none.
 */
export function parseEditsRequest(
  fields: Readonly<Record<string, string>>,
  image: ReceivedImage | undefined,
): Result<ImageRequest, RequestFailure> {
  const parsed = editsFields.safeParse(fields)
  if (!parsed.success) return fail(firstFailure(parsed.error, fields))
  if (image === undefined) return fail(missingParameter('image'))
  const { blobKey, bytes, sha256, sniffedType } = image
  if (sniffedType === undefined) return fail(invalidImage('image', notAnImage))
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

const shared = {
  model: z.enum(familyBModels),
  prompt: z.string().min(1),
  size: z.enum(pixelSizes).optional(),
  quality: z.enum(qualities).optional(),
}

/** The body of `POST /v1/images/generations`. */
export const generationsRequest = z
  .strictObject({ ...shared, n: z.literal(1).optional() })
  .meta({ id: 'GenerationsRequest' })

/** The text fields of the form. `n` is a text, because every value of a form is text. */
export const editsFields = z.strictObject({ ...shared, n: z.literal('1').optional() })
