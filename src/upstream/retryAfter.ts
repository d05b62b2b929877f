import { cooldownMsMax } from '../domain/limits.ts'
import { httpDateMs } from './httpDate.ts'

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
