import type { Pool } from 'pg'
import type {
  OperatorUsageGroup,
  Usage,
  UsageQuery,
  UsageRow,
} from '../../domain/accounts/usage.ts'
import { usagePeriodHours, usageRowsMax } from '../../domain/accounts/usage.ts'
import { defined } from '../../domain/defined.ts'
import { isoSql } from '../isoSql.ts'

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
  const { rows } = await pool.query<Row>({
    name: `usage-${accountId === undefined ? 'of-all-' : ''}${groupBy.join('-')}`,
    text: usageSql(groupBy, accountId === undefined),
    values: [startTime, endTime, usageRowsMax + 1, ...(accountId === undefined ? [] : [accountId])],
  })
  if (rows.length > usageRowsMax) return 'too_many_rows'
  return { startTime, endTime, rows: rows.map(usageRowOf) }
}

type Row = {
  readonly [Field in keyof UsageRow]: NonNullable<UsageRow[Field]> | null
} & { readonly succeeded: number; readonly failed: number; readonly credits: number }

function usageRowOf({ succeeded, failed, credits, ...groups }: Row): UsageRow {
  return { ...defined(groups), succeeded, failed, credits }
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
  const inner = [...groups.map((group) => columns[group].sql), 'kind']
  const names = groups.map((group) => columns[group].name)
  const shown = groups.map((group) => columns[group].shown)
  const count = (column: string, kind: string) =>
    `coalesce(sum(${column}) filter (where kind = '${kind}'), 0)::bigint`
  const by = names.length === 0 ? '' : `group by ${names.join(', ')} order by ${names.join(', ')}`
  return `select ${[
    ...shown,
    `${count('tasks', 'settle')} as succeeded`,
    `${count('tasks', 'release')} as failed`,
    `${count('credits', 'settle')} as credits`,
  ].join(', ')}
  from (
    select ${inner.join(', ')}, count(*) as tasks, sum(credits) as credits
    from ledger
    where ${ofAll ? '' : 'account_id = $4 and '}kind in ('settle', 'release')
      and created_at >= $1::timestamptz and created_at < $2::timestamptz
    group by ${inner.map((_, index) => index + 1).join(', ')}
  ) ends ${groups.includes('account') ? 'join account using (account_id)' : ''}
  ${by}
  limit $3`
}

const columns: Readonly<
  Record<
    OperatorUsageGroup,
    { readonly sql: string; readonly name: string; readonly shown: string }
  >
> = {
  account: { sql: 'account_id', name: 'account.name', shown: 'account.name as account' },
  key: { sql: 'key_id', name: 'key_id', shown: 'key_id as "keyId"' },
  model: { sql: 'model', name: 'model', shown: 'model' },
  channel: { sql: 'channel', name: 'channel', shown: 'channel' },
  outcome: {
    sql: `case kind when 'settle' then 'succeeded' else 'failed' end as outcome`,
    name: 'outcome',
    shown: 'outcome',
  },
  day: {
    sql: `date_bin('1 day', created_at, timestamptz '1970-01-01 00:00:00Z') as day`,
    name: 'day',
    shown: `${isoSql('day')} as "startTime"`,
  },
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
