import { z } from 'zod'
import { adminRoute } from '../adminRoute.ts'
import type { AdminRoute } from '../adminParts.ts'
import { operatorUsageGroups } from '../../domain/accounts/usageQuery.ts'
import { defined } from '../../domain/defined.ts'
import { succeed } from '../../domain/result.ts'
import { countUsage, usageCsv } from '../../operations/countUsage.ts'
import { exportLedger, listLedger, verifyLedger } from '../../operations/ledger.ts'
import { entry, usage, verification } from '../../schema/operators/operatorMoney.ts'
import { anyText, numberedQuery } from '../schemas/parameters.ts'
import { listOf } from '../../schema/answers/listAnswer.ts'
import { checkPeriod, groupsParameter, period } from '../../schema/queries.ts'

export const moneyRoutes: readonly AdminRoute[] = [
  adminRoute({
    method: 'GET',
    path: '/admin/v1/ledger',
    id: 'listLedger',
    summary: 'List the movements of an account’s credits, newest first',
    description:
      '`Accept: text/csv` returns all of the period, and the sum of each kind; `limit` and `after` then mean nothing.',
    input: numberedQuery
      .extend({
        account: anyText.meta({ description: 'The name of an account.' }),
        ...period,
        start_time: period.start_time.meta({
          description: 'The first instant. ISO 8601 or Unix seconds. Default: the first movement.',
        }),
      })
      .superRefine(checkPeriod),
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
    summary: 'Check that ledger, balances and tasks agree',
    description: 'Reads the whole ledger, which may take minutes. Changes nothing.',
    answer: [200, 'What does not agree.', verification],
    run: async ({ operator }) => succeed(await verifyLedger(operator)),
  }),
  adminRoute({
    method: 'GET',
    path: '/admin/v1/usage',
    id: 'getUsage',
    summary: 'Count tasks and credits of a period',
    description:
      'Tasks count at the moment of their end, in `[start_time, end_time)`, 30 days by default. `Accept: text/csv` returns the rows and their total.',
    input: z
      .strictObject({
        ...period,
        group_by: groupsParameter(operatorUsageGroups),
        account: anyText.optional().meta({ description: 'Only of the account with this name.' }),
      })
      .superRefine(checkPeriod),
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
