import { z } from 'zod'
import { inputMimeTypes } from '../../domain/models/models.ts'

const mimeType = z.enum(inputMimeTypes)

/**
 * Returns the schema of a response of family A. `imagePart` is the field of a part that contains the image. Further
 * fields of the upstream reach the client too, if they are inside the candidate, `promptFeedback` or
 * `usageMetadata`. Their keys are in camelCase.
 */
function response(imagePart: Readonly<Record<string, z.ZodType>>) {
  const part = z.looseObject({
    text: z.string().optional(),
    thoughtSignature: z.string().optional(),
    ...imagePart,
  })
  return z.looseObject({
    candidates: z
      .array(
        z.looseObject({
          content: z.looseObject({ parts: z.array(part).optional() }).optional(),
          finishReason: z.string().optional(),
        }),
      )
      .max(1)
      .optional()
      .meta({ description: 'The first candidate of the model.' }),
    promptFeedback: z
      .looseObject({})
      .optional()
      .meta({ description: 'Why the model refused the prompt.' }),
    usageMetadata: z.looseObject({}).optional(),
    modelVersion: z.string(),
    responseId: z.string(),
  })
}

/**
 * The native response of family A. A rejection has status 200 too: it has no image, and says why in
 * `promptFeedback` or `finishReason`.
 */
export const contentResponse = response({
  inlineData: z
    .object({ mimeType, data: z.string().meta({ contentEncoding: 'base64' }) })
    .optional(),
}).meta({ id: 'ContentResponse', description: 'The native response of family A.' })

/** An error as Google writes it, for a stream that has begun. Its first detail names our code and the task. */
export const contentStreamError = z
  .object({
    error: z.object({
      code: z.int(),
      message: z.string(),
      status: z.string(),
      details: z.array(z.looseObject({ '@type': z.string() })),
    }),
  })
  .meta({ id: 'ContentStreamError', description: 'Why a stream that has begun has no image.' })

/** The same response in a task record, with the image by its address. */
export const contentByUrl = response({
  fileData: z.object({ mimeType, fileUri: z.url() }).optional(),
}).meta({
  id: 'ContentResult',
  description: 'The response of family A, with the image by address.',
})

const tokenDetails = z.object({ text_tokens: z.int(), image_tokens: z.int() })

const reported = {
  size: z.string().optional().meta({ description: 'Present when the upstream reports it.' }),
  quality: z.string().optional().meta({ description: 'Present when the upstream reports it.' }),
  usage: z
    .object({
      input_tokens: z.int(),
      output_tokens: z.int(),
      total_tokens: z.int(),
      input_tokens_details: tokenDetails,
      output_tokens_details: tokenDetails,
    })
    .meta({
      description:
        'A number that the upstream does not report is computed from the others, or 0. ' +
        'Tokens that it does not divide count as image tokens.',
    }),
}

const created = z.int().meta({ description: 'Unix time in seconds.' })

/** The native response of family B, with the bytes of the image. */
export const imagesResponse = z
  .object({
    created,
    data: z
      .array(z.object({ b64_json: z.string().meta({ contentEncoding: 'base64' }) }))
      .length(1)
      .meta({ description: 'The image, a PNG in Base64.' }),
    ...reported,
  })
  .meta({ id: 'ImagesResponse', description: 'The native response of family B.' })

/** The same response in a task record, with the image by its address. */
export const imagesByUrl = z
  .object({ created, data: z.array(z.object({ url: z.url() })).length(1), ...reported })
  .meta({ id: 'ImagesResult', description: 'The response of family B, with the image by address.' })
