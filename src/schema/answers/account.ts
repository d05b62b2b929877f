import { z } from 'zod'
import { modelIds } from '../../domain/models/models.ts'

const credits = z.int().min(0)

/** The answer of `GET /v1/account`. */
export const account = z
  .object({
    object: z.literal('account'),
    account_id: z.string(),
    name: z.string(),
    credits: z.object({
      available: credits.meta({ description: 'Can be held by new requests.' }),
      held: credits.meta({ description: 'Held by requests that have not ended.' }),
      spent: credits.meta({ description: 'Charged since the account exists.' }),
    }),
    models: z.array(z.enum(modelIds)).nullable().meta({
      description: 'The models that the account may use. Null: all.',
    }),
  })
  .meta({ id: 'Account', description: 'An account and its credits.' })
