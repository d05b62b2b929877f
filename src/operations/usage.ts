import type {
  OperatorUsageGroup,
  UsageCountJson,
  UsageQuery,
  UsageRow,
} from '../domain/accounts/usage.ts'
import { usageCountJson, usageTotal } from '../domain/accounts/usage.ts'
import { defined } from '../domain/defined.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import { findAccount } from '../store/accounts/accounts.ts'
import { readSpentDifference, readUsage } from '../store/accounts/readUsage.ts'
import { noAccount } from './accounts.ts'
import type { AnswerOf } from '../schema/answerOf.ts'
import type { usage } from '../schema/operators/money.ts'
import { csvOf } from '../domain/csv.ts'
import type { OperationDeps, OperationFailure } from './operation.ts'
import { invalidValue } from './operation.ts'

export type UsageJson = AnswerOf<typeof usage>

/** `account` is a name. Absent: all accounts. */
export type UsageInput = UsageQuery & { readonly account?: string }

/** The members of a row by which rows are grouped. */
const names = {
  account: 'account',
  key: 'key_id',
  model: 'model',
  channel: 'channel',
  outcome: 'outcome',
  day: 'day',
} as const satisfies Readonly<Record<OperatorUsageGroup, keyof UsageJson['data'][number]>>

/** Counts what ended in a period, by two groups at most. The rows are sorted by their groups. */
export async function countUsage(
  { pool }: Pick<OperationDeps, 'pool'>,
  { account, ...query }: UsageInput,
): Promise<Result<UsageJson, OperationFailure>> {
  if (new Set(query.groupBy).size < query.groupBy.length || query.groupBy.length > 2) {
    return fail(invalidValue('group_by', 'Name at most two groups, each once.'))
  }
  const owner = account === undefined ? undefined : await findAccount(pool, account)
  if (account !== undefined && owner === undefined) return fail(noAccount(account))
  const [counted, difference] = await Promise.all([
    readUsage(pool, owner?.accountId, query),
    readSpentDifference(pool, owner?.accountId),
  ])
  if (counted === 'too_many_rows') {
    return fail(
      invalidValue(
        'group_by',
        'The answer has too many rows. Ask for a shorter period or fewer groups.',
      ),
    )
  }
  const { startTime, endTime, rows } = counted
  return succeed({
    object: 'usage',
    start_time: startTime,
    end_time: endTime,
    time_zone: 'UTC',
    data: rows.map(rowJson),
    total: usageCountJson(usageTotal(rows)),
    difference,
  })
}

function rowJson({ startTime, keyId, account, model, channel, outcome, ...counts }: UsageRow) {
  const day = startTime?.slice(0, 10)
  return {
    ...defined({ account, key_id: keyId, model, channel, outcome, day }),
    ...usageCountJson(counts),
  }
}

/** Returns usage as CSV: one line for each row, and a last line with the total. */
export function usageCsv(
  { data, total }: UsageJson,
  groupBy: readonly OperatorUsageGroup[],
): string {
  const groups = groupBy.map((group) => names[group])
  const counts = ({ tasks, credits }: UsageCountJson) => [tasks.succeeded, tasks.failed, credits]
  return csvOf([
    [...groups, 'succeeded', 'failed', 'credits'],
    ...data.map((row) => [...groups.map((group) => row[group]), ...counts(row)]),
    ...(groups.length === 0 ? [] : [['total', ...groups.slice(1).map(() => ''), ...counts(total)]]),
  ])
}
