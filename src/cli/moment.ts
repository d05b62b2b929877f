/** Times as the CLI writes them: ISO 8601, UTC, to the millisecond. */
export function iso(epochMs: number): string {
  return new Date(epochMs).toISOString()
}

/** For fields that are always there: `null` when the time is not. */
export function isoOrNull(epochMs: number | undefined): string | null {
  return epochMs === undefined ? null : iso(epochMs)
}

/** For people: to the second. */
export function shortTime(epochMs: number | undefined): string | undefined {
  return epochMs === undefined ? undefined : iso(epochMs).slice(0, 19).replace('T', ' ')
}
