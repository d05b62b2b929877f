/** Returns an SQL expression for an instant as ISO 8601 in UTC, with the given fraction of the second. */
export function isoSql(instant: string, fraction: '' | 'MS' | 'US' = ''): string {
  const digits = fraction === '' ? '' : `.${fraction}`
  return `to_char(${instant} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS${digits}"Z"')`
}
