import { z } from 'zod'

/** How every route reports an error, except the routes that use `shortErrorEnvelope`. */
export const errorEnvelope = z
  .object({
    error: z.object({
      message: z.string().meta({ description: 'A text for people. It never quotes your request.' }),
      type: z.enum(['invalid_request_error', 'new_api_error', 'rate_limit_error']),
      param: z.string().nullable().meta({
        description: 'The field that is wrong, such as `input_images[0].data`.',
      }),
      code: z.string().nullable().meta({ description: 'What went wrong, for programs.' }),
    }),
  })
  .meta({ id: 'Error', description: 'The error envelope of every route except task lookups.' })

/** How the lookups of one task and of its result report an error. */
export const shortErrorEnvelope = z
  .object({
    error: z.object({
      code: z.string().meta({ description: 'What went wrong, for programs.' }),
      message: z.string().meta({ description: 'A text for people. It never quotes your request.' }),
    }),
  })
  .meta({ id: 'LookupError', description: 'The shorter error envelope of task lookups.' })
