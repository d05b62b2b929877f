import { z } from 'zod'
import { requestsPeriods } from '../../domain/accounts/accountLimits.ts'

const count = z.int().min(0)
const credits = count

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
    models: z.array(z.string()).nullable().meta({
      description: 'The models that the account may use. Null: all.',
    }),
    limits: z
      .object({
        requests: z
          .object({
            limit: count.meta({ description: 'So many tasks can be made at once.' }),
            period: z.enum(requestsPeriods).meta({
              description: 'So long takes the refill of all, one after the other.',
            }),
            remaining: count.meta({ description: 'So many can be made now.' }),
          })
          .nullable(),
        live_tasks: z
          .object({ limit: count, used: count.meta({ description: 'Tasks that have not ended.' }) })
          .nullable(),
      })
      .meta({ description: 'What is beyond is 429 `rate_limit_exceeded`. Null: no limit.' }),
  })
  .meta({ id: 'Account', description: 'An account and its credits.' })
