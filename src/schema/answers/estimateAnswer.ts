import { z } from 'zod'

const credits = z.int().min(0)

/** The answer of `POST /v1/estimate`. */
export const estimate = z
  .object({
    object: z.literal('estimate'),
    credits: credits.meta({ description: 'What the submit would hold.' }),
    accepted: z.boolean().meta({ description: 'Whether the submit would be accepted now.' }),
    reason: z
      .object({ code: z.string(), message: z.string() })
      .optional()
      .meta({ description: 'Why not: the error that the submit would get.' }),
    credits_available: credits.meta({ description: 'Credits of the account that are not held.' }),
    budget: z
      .object({ left: credits, renews_at: z.iso.datetime() })
      .nullable()
      .meta({ description: 'What is left of the budget of the API key. Null: it has none.' }),
    expected_seconds: z.int().min(0).meta({
      description: 'The usual duration of the model, and what of the account waits before it now.',
    }),
  })
  .meta({
    id: 'Estimate',
    description: 'What a submit would hold, and whether it would be accepted.',
  })
