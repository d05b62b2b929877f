import { z } from 'zod'
import type { Family } from '../../../src/domain/models/models.ts'
import { inputMimeTypes } from '../../../src/domain/models/models.ts'

const dateTime = z.iso.datetime()

const asset = z.strictObject({
  type: z.literal('image'),
  url: z.url(),
  mime_type: z.enum(inputMimeTypes),
})

/** The task record of the API contract. Fields that do not apply are absent, never null. */
export const taskRecordResponse = z.strictObject({
  task_id: z.string(),
  model: z.string(),
  status: z.enum(['queued', 'processing', 'succeeded', 'failed', 'expired']),
  created_at: dateTime,
  progress: z.int().min(0).max(100),
  completed_at: dateTime.optional(),
  output: z.strictObject({ assets: z.array(asset) }).optional(),
  error: z.strictObject({ code: z.string(), message: z.string() }).optional(),
  /** The native response of the family, with the image by URL. */
  result: z.looseObject({}).optional(),
})

/** The error envelope of every route except lookups. */
export const errorResponse = z.strictObject({
  error: z.strictObject({
    message: z.string(),
    type: z.string(),
    param: z.string().nullable(),
    code: z.string().nullable(),
  }),
})

/** The shorter error envelope of lookups. */
export const shortErrorResponse = z.strictObject({
  error: z.strictObject({ code: z.string(), message: z.string() }),
})

type Image = { readonly url: string; readonly mimeType: string; readonly data: string }

/** How each family represents an image in its native response: by URL, and inline as Base64. */
export const nativeImages: Readonly<
  Record<
    Family,
    {
      /** Returns the part of the response that holds the image. */
      find: (native: unknown) => unknown
      byUrl: (image: Image) => object
      inside: (image: Image) => object
    }
  >
> = {
  A: {
    find: (native) => {
      const parts: readonly object[] = Object(native).candidates[0].content.parts
      return parts.find((part) => 'inlineData' in part || 'fileData' in part)
    },
    byUrl: ({ url, mimeType }) => ({ fileData: { mimeType, fileUri: url } }),
    inside: ({ mimeType, data }) => ({ inlineData: { mimeType, data } }),
  },
  B: {
    find: (native) => Object(native).data[0],
    byUrl: ({ url }) => ({ url }),
    inside: ({ data }) => ({ b64_json: data }),
  },
}
