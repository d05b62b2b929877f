import type { Pool, PoolClient, QueryResultRow } from 'pg'
import type { ListPage } from '../domain/lists/list.ts'
import { listOf } from '../domain/lists/list.ts'
import type { Since } from '../domain/lists/since.ts'

/** Which rows of a list: `limit` at most, after the one with the id `after`. Without a limit, all of them. */
export type Page = { readonly after?: string | number; readonly limit?: number }

/**
 * SQL conditions, with a value for `?`. A condition whose value is `undefined` is left out: PostgreSQL plans a statement
 * without its values, and would use no index for `$1 is null or status = $1`.
 */
export type Conditions = readonly Condition[]
type Condition = readonly [sql: string, value?: unknown]

/** Returns the condition that a column is not before `since`. */
export function sinceCondition(column: string, since: Since | undefined): Condition {
  return typeof since === 'object'
    ? [`${column} >= now() - ?::float8 * interval '1 millisecond'`, since.agoMs]
    : [`${column} >= ?::timestamptz`, since]
}

type ListSql = {
  /** The table that has the id of every row, also of rows that the list has no more. */
  readonly table: string
  /** The columns of this table that give the order. The last one is the id. */
  readonly order: readonly string[]
  readonly direction: 'asc' | 'desc'
  /** Of which rows of the table `after` may be the id. Absent: of all. */
  readonly scope?: Conditions
  /** Which rows the list has. */
  readonly filter: Conditions
  /** Returns the statement. `where` has all conditions, and `newest` the order and the limit. */
  readonly select: (where: string, newest: string) => string
}

/**
 * Reads one page of a list. Returns `unknown_after` when there is no row with the id `after`. PostgreSQL alone compares
 * instants, because those of JavaScript have no microseconds.
 */
export async function readPage<Row extends QueryResultRow>(
  client: Pool | PoolClient,
  { after, limit }: Page,
  { table, order, direction, scope = [], filter, select }: ListSql,
): Promise<ListPage<Row>> {
  const named: Conditions = [...scope, [`${order.at(-1)} = ?`, after]]
  const values: unknown[] = []
  const conditions = conditionsOf(filter, values)
  if (after !== undefined) {
    const position = `select ${order.join(', ')} from ${table} where ${conditionsOf(named, values).join(' and ')}`
    conditions.push(`(${order.join(', ')}) ${direction === 'asc' ? '>' : '<'} (${position})`)
  }
  const where = conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`
  const sorted = `order by ${order.map((column) => `${column} ${direction}`).join(', ')}`
  const newest = limit === undefined ? sorted : `${sorted} limit ${Math.trunc(limit) + 1}`
  const { rows } = await client.query<Row>(select(where, newest), values)
  if (rows.length === 0 && after !== undefined) {
    const given: unknown[] = []
    const sql = `select from ${table} where ${conditionsOf(named, given).join(' and ')}`
    if ((await client.query(sql, given)).rowCount === 0) return 'unknown_after'
  }
  return listOf(rows, limit)
}

/** Returns the conditions with `$1` and so on for their values, which it adds to `values`. */
function conditionsOf(conditions: Conditions, values: unknown[]): string[] {
  return conditions.flatMap(([sql, ...given]) => {
    if (given.length === 0) return [sql]
    const [value] = given
    return value === undefined ? [] : [sql.replaceAll('?', `$${values.push(value)}`)]
  })
}
