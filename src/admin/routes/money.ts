import { z } from 'zod'
import { adminRoute } from '../adminRoute.ts'
import type { AdminRoute } from '../context.ts'
import { operatorUsageGroups } from '../../domain/accounts/usage.ts'
import { defined } from '../../domain/defined.ts'
import { succeed } from '../../domain/result.ts'
import { countUsage, usageCsv } from '../../operations/usage.ts'
import { verifyLedger } from '../../operations/ledger.ts'
import { exportLedger, listLedger } from '../../operations/ledgerEntries.ts'
import { noFields } from '../../schema/extensionRequest.ts'
import { anyText, listOf, numberedRow, pageQuery, period } from '../schemas/parameters.ts'

const entry = z
  .object({
    entry_id: z.int(),
    created_at: z.iso.datetime(),
    account: z.string().meta({ description: 'The name of the account.' }),
    kind: z.enum(['deposit', 'withdraw', 'hold', 'settle', 'release']),
    credits: z.int(),
    task_id: z.string().nullable(),
    key_id: z.string().nullable(),
    model: z.string().nullable(),
    channel: z.string().nullable(),
    topup_id: z.string().nullable(),
  })
  .meta({ id: 'LedgerEntry', description: 'A movement of credits.' })

const verification = z
  .object({
    ok: z.boolean(),
    violations: z.array(
      z.object({ kind: z.string(), account_id: z.string(), task_id: z.string().optional() }),
    ),
  })
  .meta({ id: 'LedgerVerification', description: 'What does not agree.' })

const groupNames = operatorUsageGroups.join(', ')

const groupBy = z
  .string()
  .optional()
  .transform((text, context) => {
    const names = text === undefined ? [] : text.split(',')
    const groups = names.flatMap((name) => operatorUsageGroups.filter((group) => group === name))
    if (groups.length === names.length) return groups
    context.addIssue({ code: 'custom', message: `one or two of ${groupNames}` })
    return z.NEVER
  })
  .meta({ description: `At most two of ${groupNames}.`, example: 'account,day' })

const counts = {
  tasks: z.object({ succeeded: z.int(), failed: z.int() }),
  credits: z.int(),
}

const usage = z
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

const tag = 'Money'

export const moneyRoutes: readonly AdminRoute[] = [
  adminRoute({
    method: 'GET',
    path: '/admin/v1/ledger',
    id: 'listLedger',
    tag,
    summary: 'List the movements of an account’s credits, newest first',
    description:
      '`Accept: text/csv` returns all of the period, and the sum of each kind; `limit` and `after` then mean nothing.',
    params: noFields,
    input: pageQuery.extend({
      account: anyText.meta({ description: 'The name of an account.' }),
      after: numberedRow.optional(),
      ...period,
    }),
    answer: [200, 'Movements of credits.', listOf(entry)],
    errors: ['not_found', 'missing_required_parameter'],
    run: ({ operator, input: { account, start_time, end_time, limit, after } }) =>
      listLedger(operator, {
        account,
        limit,
        ...defined({ startTime: start_time, endTime: end_time, after }),
      }),
    csv: ({ operator, input: { account, start_time, end_time } }) =>
      exportLedger(operator, {
        account,
        ...defined({ startTime: start_time, endTime: end_time }),
      }),
  }),
  adminRoute({
    method: 'POST',
    path: '/admin/v1/ledger/verify',
    id: 'verifyLedger',
    tag,
    summary: 'Check that ledger, balances and tasks agree',
    description: 'Reads the whole ledger, which may take minutes. Changes nothing.',
    params: noFields,
    input: noFields,
    answer: [200, 'What does not agree.', verification],
    run: async ({ operator }) => succeed(await verifyLedger(operator)),
  }),
  adminRoute({
    method: 'GET',
    path: '/admin/v1/usage',
    id: 'getUsage',
    tag,
    summary: 'Count tasks and credits of a period',
    description:
      'Tasks count at the moment of their end, in `[start_time, end_time)`, 30 days by default. `Accept: text/csv` returns the rows and their total.',
    params: noFields,
    input: z.strictObject({
      ...period,
      group_by: groupBy,
      account: anyText.optional().meta({ description: 'Only of the account with this name.' }),
    }),
    answer: [200, 'One row for each group.', usage],
    errors: ['not_found'],
    run: ({ operator, input }) => countUsage(operator, usageOf(input)),
    csv: async ({ operator, input }) => {
      const counted = await countUsage(operator, usageOf(input))
      return counted.ok ? succeed(usageCsv(counted.value, input.group_by)) : counted
    },
  }),
]

type UsageGiven = {
  readonly start_time?: string | undefined
  readonly end_time?: string | undefined
  readonly account?: string | undefined
  readonly group_by: (typeof operatorUsageGroups)[number][]
}

function usageOf({ start_time, end_time, group_by: groupBy, account }: UsageGiven) {
  return { groupBy, ...defined({ startTime: start_time, endTime: end_time, account }) }
}
