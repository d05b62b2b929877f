import type { Pool } from 'pg'
import type {
  OperatorUsageGroup,
  Usage,
  UsageCount,
  UsageQuery,
  UsageRow,
} from '../../domain/accounts/usageQuery.ts'
import { usagePeriodHours, usageRowsMax } from '../../domain/accounts/usageQuery.ts'
import { defined } from '../../domain/defined.ts'
import { isoSql } from '../isoSql.ts'
import type { Row } from '../row.ts'

/**
 * Counts the ends of the tasks of one account, or of all, in a period, from the ledger alone. So the result stays the
 * same when tasks are purged, and its credits are exactly the settlements of the period. The rows are sorted by their
 * groups. Returns one row of zeros when there are no groups and no ends. Returns `too_many_rows` above `usageRowsMax`
 * rows.
 */
export async function readUsage(
  pool: Pool,
  accountId: string | undefined,
  query: UsageQuery,
): Promise<Usage | 'too_many_rows'> {
  const { startTime, endTime } = await periodOf(pool, query)
  const { groupBy } = query
  const { rows } = await pool.query<Row<UsageRow>>({
    name: `usage-${accountId === undefined ? 'of-all-' : ''}${groupBy.join('-')}`,
    text: usageSql(groupBy, accountId === undefined),
    values: [startTime, endTime, usageRowsMax + 1, ...(accountId === undefined ? [] : [accountId])],
  })
  if (rows.length > usageRowsMax) return 'too_many_rows'
  const sumOf = (count: (row: UsageCount) => number) =>
    rows.reduce((sum, row) => sum + count(row), 0)
  const total = {
    tasks: {
      succeeded: sumOf(({ tasks }) => tasks.succeeded),
      failed: sumOf(({ tasks }) => tasks.failed),
    },
    credits: sumOf(({ credits }) => credits),
  }
  return { start_time: startTime, end_time: endTime, data: rows.map(defined), total }
}

/** Returns the period. Computes a missing start or end by PostgreSQL's clock. */
async function periodOf(
  pool: Pool,
  { startTime, endTime }: UsageQuery,
): Promise<{ readonly startTime: string; readonly endTime: string }> {
  if (startTime !== undefined && endTime !== undefined) return { startTime, endTime }
  const { rows } = await pool.query<{ startTime: string; endTime: string }>({
    name: 'usage-period',
    text: `select ${isoSql('starts', 'US')} as "startTime", ${isoSql('ends', 'US')} as "endTime"
      from coalesce($2::timestamptz, greatest(now(), $1::timestamptz)) ends,
        coalesce($1::timestamptz, ends - interval '${usagePeriodHours} hours') starts`,
    values: [startTime ?? null, endTime ?? null],
  })
  if (rows[0] === undefined) throw new Error('Bug: a select returned no row')
  return rows[0]
}

/**
 * The inner part reads the index `ledger_end` alone. It groups by kind as well, because it is faster to count
 * few groups than to test the kind of each row several times.
 */
function usageSql(groups: readonly OperatorUsageGroup[], ofAll: boolean): string {
  const inner = [...groups.map((group) => columns[group][0]), 'kind']
  const shown = groups.map((group) => columns[group][1])
  const positions = groups.map((_, index) => index + 1).join(', ')
  const count = (column: string, kind: string) =>
    `coalesce(sum(${column}) filter (where kind = '${kind}'), 0)::bigint`
  return `select ${[
    ...shown,
    `json_build_object('succeeded', ${count('tasks', 'settle')}, 'failed', ${count('tasks', 'release')}) as tasks`,
    `${count('credits', 'settle')} as credits`,
  ].join(', ')}
  from (
    select ${inner.join(', ')}, count(*) as tasks, sum(credits) as credits
    from ledger
    where ${ofAll ? '' : 'account_id = $4 and '}kind in ('settle', 'release')
      and created_at >= $1::timestamptz and created_at < $2::timestamptz
    group by ${inner.map((_, index) => index + 1).join(', ')}
  ) ends ${groups.includes('account') ? 'join account using (account_id)' : ''}
  ${positions === '' ? '' : `group by ${positions} order by ${positions}`}
  limit $3`
}

/** What is read of the ledger for a group, and how it is shown. */
const columns: Readonly<Record<OperatorUsageGroup, readonly [read: string, shown: string]>> = {
  account: ['account_id', 'account.name as account'],
  key: ['key_id', 'key_id'],
  model: ['model', 'model'],
  channel: ['channel', 'channel'],
  outcome: [`case kind when 'settle' then 'succeeded' else 'failed' end as outcome`, 'outcome'],
  day: [
    `date_bin('1 day', created_at, timestamptz '1970-01-01 00:00:00Z') as day`,
    `to_char(day at time zone 'UTC', 'YYYY-MM-DD') as day`,
  ],
}

/**
 * Returns the difference between all settlements and what the balances say is spent, of one account or of all. It is 0,
 * unless the ledger is wrong.
 */
export async function readSpentDifference(pool: Pool, accountId?: string): Promise<number> {
  const ofAccount = accountId === undefined ? '' : 'account_id = $1 and '
  const { rows } = await pool.query<{ difference: number }>({
    text: `select (
        (select coalesce(sum(credits), 0) from ledger where ${ofAccount}kind in ('settle', 'release') and kind = 'settle')
        - (select coalesce(sum(spent), 0) from account_balance where ${ofAccount}true)
      )::bigint as difference`,
    values: accountId === undefined ? [] : [accountId],
  })
  if (rows[0] === undefined) throw new Error('Bug: a select returned no row')
  return rows[0].difference
}
