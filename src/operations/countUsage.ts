import type { OperatorUsageGroup, UsageQuery } from '../domain/accounts/usageQuery.ts'
import { usageCells, usageField } from '../domain/accounts/usageQuery.ts'
import { succeed } from '../domain/result.ts'
import { findAccount } from '../store/accounts/accountRows.ts'
import { readSpentDifference, readUsage } from '../store/accounts/readUsage.ts'
import { accountNamed } from './accounts.ts'
import type { AnswerOf } from '../schema/answerOf.ts'
import type { usage } from '../schema/operators/operatorMoney.ts'
import { csvOf } from '../domain/lists/csv.ts'
import type { Done, OperationDeps } from './operation.ts'
import { invalidValue, missing } from './operation.ts'

export type UsageJson = AnswerOf<typeof usage>

/** `account` is a name. Absent: all accounts. */
export type UsageInput = UsageQuery & { readonly account?: string }

/** Counts what ended in a period, by two groups at most. The rows are sorted by their groups. */
export async function countUsage(
  { pool }: Pick<OperationDeps, 'pool'>,
  { account, ...query }: UsageInput,
): Done<UsageJson> {
  if (new Set(query.groupBy).size < query.groupBy.length || query.groupBy.length > 2) {
    return invalidValue('group_by', 'Name at most two groups, each once.')
  }
  const owner = account === undefined ? undefined : await findAccount(pool, account)
  if (account !== undefined && owner === undefined) return missing(accountNamed(account))
  const [counted, difference] = await Promise.all([
    readUsage(pool, owner?.account_id, query),
    readSpentDifference(pool, owner?.account_id),
  ])
  if (counted === 'too_many_rows') {
    const message = 'The answer has too many rows. Ask for a shorter period or fewer groups.'
    return invalidValue('group_by', message)
  }
  return succeed({ object: 'usage', ...counted, time_zone: 'UTC', difference })
}

/** Returns usage as CSV: one line for each row, and a last line with the total. */
export function usageCsv(
  { data, total }: UsageJson,
  groupBy: readonly OperatorUsageGroup[],
): string {
  const fields = groupBy.map(usageField)
  const last = ['total', ...fields.slice(1).map(() => ''), ...usageCells(total)]
  return csvOf([
    [...fields, 'succeeded', 'failed', 'credits'],
    ...data.map((row) => [...fields.map((field) => row[field]), ...usageCells(row)]),
    ...(fields.length === 0 ? [] : [last]),
  ])
}
