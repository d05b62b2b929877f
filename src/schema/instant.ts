import { z } from 'zod'

/**
 * A parameter that names an instant: an ISO 8601 time with an offset, a day (its start in UTC), or Unix seconds.
 * The output is an ISO 8601 time in UTC with six digits after the second, as PostgreSQL keeps times. So two
 * outputs compare as texts. Digits beyond the sixth are cut off: some languages write nanoseconds.
 */
export const instantParameter = z.string().transform((text, context) => {
  const instant = parseInstant(text)
  if (instant !== undefined) return instant
  const message = 'an ISO 8601 time with an offset, such as 2026-01-31T00:00:00Z, or Unix seconds'
  context.addIssue({ code: 'custom', message })
  return z.NEVER
})

/**
 * The plus sign of an offset arrives as a space when a client does not encode it. No other time has a space in
 * this place.
 */
const isoTime =
  /^(\d{4}-\d{2}-\d{2})(?:T([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.(\d{1,12}))?)?(Z|[+ -](?:[01]\d|2[0-3]):?[0-5]\d))?$/i
const unixSeconds = /^(\d{1,12})(?:\.(\d{1,12}))?$/

/** The last second of the year 9999, where the format of times in answers ends. */
const lastSecond = 253_402_300_799

/**
 * Returns the instant that a text names, as ISO 8601 in UTC with microseconds. Returns `undefined` for a text that
 * names none, and for an instant before 1970 or after 9999.
 */
export function parseInstant(text: string): string | undefined {
  const unix = unixSeconds.exec(text)
  if (unix !== null) return instantAt(Number(unix[1]), unix[2])
  const [, day, hour = '00', minute = '00', second = '00', fraction, offset = 'Z'] =
    isoTime.exec(text) ?? []
  if (day === undefined || !isDay(day)) return undefined
  const zone = offset
    .replace(' ', '+')
    .replace(/(\d{2})(\d{2})$/, '$1:$2')
    .toUpperCase()
  return instantAt(Date.parse(`${day}T${hour}:${minute}:${second}${zone}`) / 1000, fraction)
}

function instantAt(seconds: number, fraction = ''): string | undefined {
  if (seconds < 0 || seconds > lastSecond) return undefined
  const wholeSeconds = new Date(seconds * 1000).toISOString().slice(0, 'yyyy-mm-ddThh:mm:ss'.length)
  return `${wholeSeconds}.${fraction.slice(0, 6).padEnd(6, '0')}Z`
}

/** Returns whether a day exists. `Date.parse` alone reads February 30 as March 2. */
function isDay(day: string): boolean {
  const atMs = Date.parse(day)
  return Number.isFinite(atMs) && new Date(atMs).toISOString().startsWith(day)
}
