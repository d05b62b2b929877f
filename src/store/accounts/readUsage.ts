import type { Pool } from 'pg'
import type { Usage, UsageGroup, UsageQuery, UsageRow } from '../../domain/accounts/usage.ts'
import { usageGroups, usagePeriodHours, usageRowsMax } from '../../domain/accounts/usage.ts'
import { defined } from '../../domain/defined.ts'

/**
 * Counts the ends of an account's tasks in a period, from the ledger alone. So the result stays the same when
 * tasks are purged, and its credits are exactly the settlements of the period. Returns one row of zeros when
 * there are no groups and no ends. Returns `too_many_rows` above `usageRowsMax` rows.
 */
export async function readUsage(
  pool: Pool,
  accountId: string,
  query: UsageQuery,
): Promise<Usage | 'too_many_rows'> {
  const { startTime, endTime } = await periodOf(pool, query)
  const groups = usageGroups.filter((group) => query.groupBy.includes(group))
  const { rows } = await pool.query<Row>({
    name: `usage-${groups.join('-')}`,
    text: usageSql(groups),
    values: [accountId, startTime, endTime, usageRowsMax + 1],
  })
  if (rows.length > usageRowsMax) return 'too_many_rows'
  return { startTime, endTime, rows: rows.map(usageRowOf) }
}

type Row = {
  readonly [Field in keyof UsageRow]: NonNullable<UsageRow[Field]> | null
} & { readonly succeeded: number; readonly failed: number; readonly credits: number }

function usageRowOf({ startTime, model, keyId, ...counts }: Row): UsageRow {
  return { ...defined({ startTime, model, keyId }), ...counts }
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
function usageSql(groups: readonly UsageGroup[]): string {
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
    where account_id = $1 and created_at >= $2::timestamptz and created_at < $3::timestamptz
      and kind in ('settle', 'release')
    group by ${inner.map((_, index) => index + 1).join(', ')}
  ) ends
  ${by}
  limit $4`
}

const columns: Readonly<
  Record<UsageGroup, { readonly sql: string; readonly name: string; readonly shown: string }>
> = {
  day: {
    sql: `date_bin('1 day', created_at, timestamptz '1970-01-01 00:00:00Z') as day`,
    name: 'day',
    shown: `${isoSql('day')} as "startTime"`,
  },
  model: { sql: 'model', name: 'model', shown: 'model' },
  key: { sql: 'key_id', name: 'key_id', shown: 'key_id as "keyId"' },
}

/** Returns an expression for an instant as ISO 8601 in UTC, with the given fraction of the second. */
function isoSql(instant: string, fraction = ''): string {
  const digits = fraction === '' ? '' : `.${fraction}`
  return `to_char(${instant} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS${digits}"Z"')`
}
