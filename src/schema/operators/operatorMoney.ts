import { z } from 'zod'
import { counts } from '../answers/usageAnswer.ts'

export const entry = z
  .object({
    entry_id: z.int(),
    created_at: z.iso.datetime(),
    account: z.string().meta({ description: 'The name of the account.' }),
    kind: z.enum(['deposit', 'withdraw', 'hold', 'settle', 'refund', 'release']),
    credits: z.int(),
    task_id: z.string().nullable(),
    key_id: z.string().nullable(),
    model: z.string().nullable(),
    channel: z.string().nullable(),
    topup_id: z.string().nullable(),
  })
  .meta({
    id: 'LedgerEntry',
    description:
      'A movement of credits. The hold of a task ends with a `release`, or with a `settle` and, where its image is smaller than asked, a `refund` of the rest.',
  })

export const verification = z
  .object({
    ok: z.boolean(),
    violations: z.array(
      z.object({ kind: z.string(), account_id: z.string(), task_id: z.string().optional() }),
    ),
  })
  .meta({ id: 'LedgerVerification', description: 'What does not agree.' })

export const usage = z
  .object({
    object: z.literal('usage'),
    start_time: z.iso.datetime(),
    end_time: z.iso.datetime(),
    time_zone: z.literal('UTC'),
    data: z.array(
      z.object({
        account: z.string().optional(),
        key_id: z.string().optional(),
        model: z.string().optional(),
        channel: z.string().optional(),
        outcome: z.enum(['succeeded', 'failed']).optional(),
        day: z.iso.date().optional(),
        ...counts,
      }),
    ),
    total: z.object(counts),
    difference: z.int().meta({
      description: 'All settlements of the ledger less what the balances say is spent. It is 0.',
    }),
  })
  .meta({ id: 'AdminUsage', description: 'Tasks and credits of a period, by group.' })
