/** Returns a time for JSON: ISO 8601, UTC, with milliseconds. */
export function isoTime(atMs: number): string {
  return new Date(atMs).toISOString()
}

/** Returns the same as `isoTime`, or `null` if there is no such time. For fields that are always present. */
export function isoTimeOrNull(atMs: number | undefined): string | null {
  return atMs === undefined ? null : isoTime(atMs)
}
