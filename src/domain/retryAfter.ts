export type RetryAfterSources = {
  /** The headers as received. A header that was sent twice is an array. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** The duration from `RetryInfo` in an error body of family A, such as `37s` or `0.9s`. */
  readonly retryDelay?: string
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
 */
export function retryAfterMs(sources: RetryAfterSources, waitMsMax: number): number | undefined {
  const { headers, retryDelay, nowMs } = sources
  const header = single(headers['retry-after'])
  const waitMs =
    scaled(single(headers['retry-after-ms']), 1) ??
    scaled(header, 1000) ??
    untilDate(header, single(headers['date']), nowMs) ??
    scaled(retryDelay?.match(/^(.+)s$/)?.[1], 1000)
  return waitMs === undefined ? undefined : Math.min(waitMs, waitMsMax)
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
  const atMs = dateMs(text)
  if (atMs === undefined) return undefined
  const waitMs = atMs - (dateMs(answerDate) ?? nowMs)
  return waitMs < 0 ? undefined : waitMs
}

/**
 * Reads an HTTP-date in any of its three forms, which a recipient must accept (RFC 9110 section 5.6.7). Each begins with
 * the name of a day. Returns epoch milliseconds, or `undefined` for any other text.
 */
function dateMs(text: string | undefined): number | undefined {
  if (text === undefined || !/^[A-Z][a-z]+,? /.test(text)) return undefined
  // Without `GMT`, `Date.parse` would take the time as local time.
  const ms = Date.parse(text.endsWith(' GMT') ? text : `${text} GMT`)
  return Number.isNaN(ms) ? undefined : ms
}
