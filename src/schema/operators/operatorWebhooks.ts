import { z } from 'zod'
import { refusal } from './operatorTasks.ts'

export const webhook = z
  .object({
    webhook_id: z.string(),
    account: z.string().meta({ description: 'The name of the account.' }),
    url: z.string(),
    status: z.enum(['active', 'disabled']),
    key_id: z.string().meta({ description: 'The key of WEBHOOK_KEYS behind its secret.' }),
    created_at: z.iso.datetime(),
    pending: z.int().meta({ description: 'Deliveries that wait.' }),
    oldest_pending_at: z.iso.datetime().nullable(),
    failing_since: z.iso.datetime().nullable(),
  })
  .meta({ id: 'AdminWebhook', description: 'A webhook of any account.' })

export const redelivered = z.union([
  z.object({ would_redeliver: z.array(z.string()) }),
  z.object({
    redelivered: z.array(z.string()),
    refused: z.array(z.object({ delivery_id: z.string(), ...refusal })),
  }),
])
