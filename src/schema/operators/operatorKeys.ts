import { z } from 'zod'

export const key = z
  .object({
    key_id: z.string(),
    account: z.string().meta({ description: 'The name of the account.' }),
    prefix: z.string().meta({ description: 'The first characters of the secret.' }),
    pepper_id: z.string().meta({ description: 'The id of the pepper in its hash.' }),
    created_at: z.iso.datetime(),
    expires_at: z.iso.datetime().nullable(),
    revoked_at: z.iso.datetime().nullable(),
    budget: z.string().nullable().meta({ description: 'Such as `5000/day`.' }),
    used: z.int().nullable().meta({
      description: 'What the submits of the present period hold or have spent.',
    }),
    renews_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Key', description: 'An API key without its secret.' })

export const newKey = key
  .extend({ secret: z.string().meta({ description: 'No other answer contains it.' }) })
  .meta({ id: 'KeyWithSecret', description: 'A new API key.' })
