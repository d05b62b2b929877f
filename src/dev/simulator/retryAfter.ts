import { assertNever } from '../../domain/assertNever.ts'
import type { RetryForm } from './faults.ts'

export type RetryAdvice = {
  readonly retryAfter?: number | undefined
  readonly form?: RetryForm | undefined
  readonly skew?: number | undefined
}

/** `retryDelay` is RetryInfo's duration text; it belongs into family A's error details. */
export type RetryAnswer = {
  readonly headers: Readonly<Record<string, string>>
  readonly retryDelay: string | null
}

const defaultRetryAfterSeconds = 1

/**
 * Says "come back later" in the asked form. Whole seconds of the answer's own Date are the base of
 * the date form, so that Retry-After minus Date is exactly what was asked for.
 */
export function adviseRetry(advice: RetryAdvice, nowMs: number): RetryAnswer {
  const seconds = advice.retryAfter ?? defaultRetryAfterSeconds
  const dateSeconds = Math.floor(nowMs / 1000) + (advice.skew ?? 0)
  const date: Record<string, string> =
    advice.skew === undefined && advice.form !== 'date' ? {} : { date: httpDate(dateSeconds) }
  const form = advice.form ?? 'seconds'
  switch (form) {
    case 'seconds':
      return { headers: { ...date, 'retry-after': String(seconds) }, retryDelay: null }
    case 'date':
      return {
        headers: { ...date, 'retry-after': httpDate(dateSeconds + seconds) },
        retryDelay: null,
      }
    case 'ms':
      return {
        headers: { ...date, 'retry-after-ms': String(Math.round(seconds * 1000)) },
        retryDelay: null,
      }
    case 'retry-info':
      return { headers: date, retryDelay: `${seconds}s` }
    case 'garbage':
      return { headers: { ...date, 'retry-after': 'soon' }, retryDelay: null }
    case 'none':
      return { headers: date, retryDelay: null }
    default:
      return assertNever(form)
  }
}

/** For answers that say nothing of the kind unless asked to. */
export function adviseRetryIfAsked(advice: RetryAdvice, nowMs: number): RetryAnswer {
  const form = advice.form ?? (advice.retryAfter === undefined ? 'none' : 'seconds')
  return adviseRetry({ ...advice, form }, nowMs)
}

function httpDate(seconds: number): string {
  return new Date(seconds * 1000).toUTCString()
}
