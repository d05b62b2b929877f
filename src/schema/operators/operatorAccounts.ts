import { z } from 'zod'
import { account as publicAccount } from '../answers/accountAnswer.ts'

const credits = z.int()
/** Models that an account may use. */
export const models = z.array(z.string()).min(1)

export const account = z
  .object({
    account_id: z.string(),
    name: z.string(),
    available: credits.meta({ description: 'Can be held by new requests.' }),
    held: credits.meta({ description: 'Held by requests that have not ended.' }),
    spent: credits.meta({ description: 'Charged since the account exists.' }),
    models: models.nullable().meta({ description: 'What it may use. Null: all.' }),
    limits: publicAccount.shape.limits,
    alert_below: credits
      .nullable()
      .meta({ description: 'Webhooks are told when less is available. Null: never.' }),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'AdminAccount', description: 'An account and its credits.' })

export const topup = z
  .object({ topup_id: z.string(), credits, account })
  .meta({ id: 'Topup', description: 'A movement of credits, and the account after it.' })
