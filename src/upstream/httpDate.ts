/** `Sun, 06 Nov 1994 08:49:37 GMT`, and RFC 850's `Sunday, 06-Nov-94 08:49:37 GMT`. */
const dayFirst =
  /^[A-Z][a-z]+, (?<day>\d\d?)[ -](?<month>[A-Z][a-z]{2})[ -](?<year>\d{4}|\d\d) (?<time>\d\d:\d\d:\d\d) GMT$/
/** That of C's asctime, `Sun Nov  6 08:49:37 1994`, which is meant in UTC. */
const monthFirst =
  /^[A-Z][a-z]{2} (?<month>[A-Z][a-z]{2}) +(?<day>\d\d?) (?<time>\d\d:\d\d:\d\d) (?<year>\d{4})$/

/**
 * An HTTP-date in each of its three forms (RFC 9110 section 5.6.7) as epoch milliseconds; `undefined`
 * for any other text. `nowMs` tells the century of a year of two digits.
 */
export function httpDateMs(text: string, nowMs: number): number | undefined {
  const { day, month, year, time } = (dayFirst.exec(text) ?? monthFirst.exec(text))?.groups ?? {}
  if (year === undefined) return undefined
  // Without the zone, `Date.parse` would read the time as ours.
  const ms = Date.parse(`${day} ${month} ${fullYear(year, nowMs)} ${time} GMT`)
  return Number.isNaN(ms) ? undefined : ms
}

/** Two digits are never more than 50 years ahead. */
function fullYear(year: string, nowMs: number): number {
  const digits = Number(year)
  if (year.length === 4) return digits
  const first = new Date(nowMs).getUTCFullYear() - 49
  return first + ((digits - (first % 100) + 100) % 100)
}
