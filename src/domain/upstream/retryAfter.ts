export type RetryAfterSources = {
  /** The headers as received. A header that was sent twice is an array. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** The duration from `RetryInfo` in an error body of family A, such as `37s` or `0.9s`. */
  readonly retryDelay?: string
  /** The message of a 429. Only for that: it may quote a client. */
  readonly text?: string
  /** Epoch milliseconds. Used when the answer has no Date header. */
  readonly nowMs: number
}

/**
 * Returns how long a server asks us to wait, in whole milliseconds and at most `waitMsMax`. Returns `undefined`
 * when the server asks for no wait, or we cannot read it. The first of these that can be read
 * counts:
 * 1. `retry-after-ms`, a header of some vendors.
 * 2. `Retry-After` in seconds (RFC 9110 section 10.2.3). Fractions are accepted too.
 * 3. `Retry-After` as an HTTP-date. It is compared with the Date header of the answer, because the same clock
 *    wrote both.
 * 4. `RetryInfo` in the error body (google.rpc).
 * 5. A text such as "Please try again in 350ms". At most `textWaitMsMax`, because a message may quote a client, and the
 *    wait keeps everybody from the model.
 */
export function retryAfterMs(sources: RetryAfterSources, waitMsMax: number): number | undefined {
  const { headers, retryDelay, text, nowMs } = sources
  const header = single(headers['retry-after'])
  const waitMs =
    scaled(single(headers['retry-after-ms']), 1) ??
    scaled(header, 1000) ??
    untilDate(header, single(headers['date']), nowMs) ??
    scaled(retryDelay?.match(/^(.+)s$/)?.[1], 1000) ??
    textWaitMs(text)
  return waitMs === undefined ? undefined : Math.min(waitMs, waitMsMax)
}

const textWaitMsMax = 30_000
/** https://github.com/Wei-Shaw/sub2api/issues/3052, and Azure's "Please retry after 10 seconds". */
const waitText = /\b(?:try again|retry) (?:in|after) (\d+(?:\.\d+)?) ?(ms|milli|s|m|h)/i
const unitMs: Readonly<Record<string, number>> = {
  ms: 1,
  milli: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
}

function textWaitMs(text = ''): number | undefined {
  const [, number, unit = ''] = waitText.exec(text) ?? []
  const waitMs = scaled(number, unitMs[unit.toLowerCase()] ?? 1)
  return waitMs === undefined ? undefined : Math.min(waitMs, textWaitMsMax)
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}

/**
 * Reads a plain decimal number and rounds it up to whole milliseconds. Returns `undefined` for a negative
 * number.
 */
function scaled(text: string | undefined, unitMs: number): number | undefined {
  if (text === undefined || !/^\s*\d+(?:\.\d+)?\s*$/.test(text)) return undefined
  // First round to the microsecond: multiplying decimals is not exact, and 2.007 × 1000 is more than 2007.
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

/** The form `Sun, 06 Nov 1994 08:49:37 GMT`, and the form `Sunday, 06-Nov-94 08:49:37 GMT` of RFC 850. */
const dayFirst =
  /^[A-Z][a-z]+, (?<day>\d\d?)[ -](?<month>[A-Z][a-z]{2})[ -](?<year>\d{4}|\d\d) (?<time>\d\d:\d\d:\d\d) GMT$/
/** The form `Sun Nov  6 08:49:37 1994` of the C function asctime, always in UTC. */
const monthFirst =
  /^[A-Z][a-z]{2} (?<month>[A-Z][a-z]{2}) +(?<day>\d\d?) (?<time>\d\d:\d\d:\d\d) (?<year>\d{4})$/

/**
 * Reads an HTTP-date in any of its three forms, which a recipient must accept (RFC 9110 section 5.6.7). Returns epoch
 * milliseconds, or `undefined` for any other text. `nowMs` decides the century of a year with two digits.
 */
function httpDateMs(text: string, nowMs: number): number | undefined {
  const { day, month, year, time } = (dayFirst.exec(text) ?? monthFirst.exec(text))?.groups ?? {}
  if (year === undefined) return undefined
  // Without `GMT`, `Date.parse` would take the time as local time.
  const ms = Date.parse(`${day} ${month} ${fullYear(year, nowMs)} ${time} GMT`)
  return Number.isNaN(ms) ? undefined : ms
}

/**
 * Returns the year in full. A year with two digits is at most 50 years in the future (RFC 9110 section
 * 5.6.7).
 */
function fullYear(year: string, nowMs: number): number {
  const digits = Number(year)
  if (year.length === 4) return digits
  const first = new Date(nowMs).getUTCFullYear() - 49
  return first + ((digits - (first % 100) + 100) % 100)
}
