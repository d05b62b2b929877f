import { z } from 'zod'

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
      description: 'A number that the upstream does not report is computed from the others, or 0.',
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
