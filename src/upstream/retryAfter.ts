import { cooldownMsMax } from '../domain/limits.ts'

export type RetryAfterSources = {
  /** Header values as received; a repeated header arrives as an array. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** RetryInfo of family A's error body. */
  readonly retryDelay?: string
  /** Epoch milliseconds; stands in for a missing Date header. */
  readonly nowMs: number
}

/**
 * How long the upstream asked to wait, in milliseconds, at most `cooldownMsMax` (design 1.8). In order:
 * `retry-after-ms`, `Retry-After` as seconds or as an HTTP-date against the answer's own Date (its clock,
 * not ours, wrote both), RetryInfo. Whatever is negative or no number says nothing: `undefined`.
 */
export function retryAfterMs(sources: RetryAfterSources): number | undefined {
  const { headers, retryDelay, nowMs } = sources
  const header = single(headers['retry-after'])
  const waitMs =
    scaled(single(headers['retry-after-ms']), 1) ??
    scaled(header, 1000) ??
    untilDate(header, single(headers['date']), nowMs) ??
    scaled(retryDelay?.match(/^(.+)s$/)?.[1], 1000)
  return waitMs === undefined ? undefined : Math.min(waitMs, cooldownMsMax)
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}

/** A plain decimal, rounded up to whole milliseconds. */
function scaled(text: string | undefined, unitMs: number): number | undefined {
  if (text === undefined || !/^\s*\d+(?:\.\d+)?\s*$/.test(text)) return undefined
  // Rounded to the microsecond first: 0.9 × 1000 is not exactly 900.
  return Math.ceil(Math.round(Number(text) * unitMs * 1000) / 1000)
}

function untilDate(
  text: string | undefined,
  answerDate: string | undefined,
  nowMs: number,
): number | undefined {
  const atMs = dateMs(text, nowMs)
  if (atMs === undefined) return undefined
  const waitMs = atMs - (dateMs(answerDate, nowMs) ?? nowMs)
  return waitMs < 0 ? undefined : waitMs
}

function dateMs(text: string | undefined, nowMs: number): number | undefined {
  return text === undefined ? undefined : httpDateMs(text, nowMs)
}

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
