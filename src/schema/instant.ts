import { z } from 'zod'

/**
 * A parameter that names an instant: an ISO 8601 time with an offset, a day (its start in UTC), or Unix seconds.
 * The output is an ISO 8601 time in UTC with milliseconds. So two outputs compare as texts.
 */
export const instantParameter = z.string().transform((text, context) => {
  const instant = parseInstant(text)
  if (instant !== undefined) return instant
  const message = 'an ISO 8601 time with an offset, such as 2026-01-31T00:00:00Z, or Unix seconds'
  context.addIssue({ code: 'custom', message })
  return z.NEVER
})

const isoTime =
  /^(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))(?:T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,12})?)?(?:Z|[+-](?:[01]\d|2[0-3]):?[0-5]\d))?$/
const unixSeconds = /^\d{1,12}(?:\.\d{1,12})?$/

/** The end of the year 9999, where the format of times in answers ends. */
const endMs = 253_402_300_800_000

/**
 * Returns the instant that a text names, as ISO 8601 in UTC. Returns `undefined` for a text that names none, and for an
 * instant before 1970 or after 9999.
 */
export function parseInstant(text: string): string | undefined {
  const atMs = unixSeconds.test(text) ? Number(text) * 1000 : isoMs(text)
  return atMs >= 0 && atMs < endMs ? new Date(atMs).toISOString() : undefined
}

function isoMs(text: string): number {
  // The plus sign of an offset arrives as a space when a client does not encode it. No other time has a space there.
  const time = text.toUpperCase().replace(' ', '+')
  const [, day] = isoTime.exec(time) ?? []
  // `Date.parse` alone reads February 30 as March 2.
  const isDay = day !== undefined && new Date(day).toISOString().startsWith(day)
  return isDay ? Date.parse(time) : NaN
}
