/** Returns a time for JSON: ISO 8601, UTC, with milliseconds. */
export function isoTime(atMs: number): string {
  return new Date(atMs).toISOString()
}
