import { assertNever } from '../../domain/assertNever.ts'
import { defined } from '../../domain/defined.ts'
import type { RetryForm } from './faults.ts'

type Headers = Readonly<Record<string, string>>

/** A complete HTTP answer, before a fault changes how it is sent. */
export type Reply = { readonly status: number; readonly headers: Headers; readonly body: string }

/** Makes a JSON answer. `headers` are added to the content type. */
export function jsonReply(status: number, body: unknown, headers: Headers = {}): Reply {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=UTF-8', ...headers },
    body: JSON.stringify(body),
  }
}

/**
 * Makes the HTML answer of a proxy or load balancer in front of the vendor. Such a proxy does not use the
 * vendor's error format.
 */
export function htmlReply(status: number, title: string, headers: Headers = {}): Reply {
  const body = `<html>\r\n<head><title>${title}</title></head>\r\n<body>\r\n<center><h1>${title}</h1></center>\r\n</body>\r\n</html>\r\n`
  return { status, headers: { 'content-type': 'text/html', ...headers }, body }
}

/**
 * The fields of a fault about retrying: how many seconds to wait, in which form to say so, and how wrong the
 * server's clock is.
 */
export type RetryAdvice = {
  readonly retryAfter?: number | undefined
  readonly form?: RetryForm | undefined
  readonly skew?: number | undefined
}

export type RetryAnswer = {
  readonly headers: Headers
  /** Only for family A's error details: the wait as a Duration of Protocol Buffers, such as `1.5s`. */
  readonly retryDelay?: string
}

const defaultRetryAfterSeconds = 1

/**
 * Writes how long to wait, in the form that the fault asks for. Default: one second, in the header
 * `Retry-After`.
 */
export function adviseRetry(advice: RetryAdvice, nowMs: number): RetryAnswer {
  const seconds = advice.retryAfter ?? defaultRetryAfterSeconds
  const form = advice.form ?? 'seconds'
  // The date in Retry-After is counted from the answer's own Date header, which has whole seconds. So
  // Retry-After minus Date is exactly the wait that the fault asks for.
  const dateSeconds = Math.floor(nowMs / 1000) + (advice.skew ?? 0)
  const sendsDate = advice.skew !== undefined || form === 'date'
  const date = defined({ date: sendsDate ? httpDate(dateSeconds) : undefined })
  switch (form) {
    case 'seconds':
      return { headers: { ...date, 'retry-after': String(seconds) } }
    case 'date':
      return { headers: { ...date, 'retry-after': httpDate(dateSeconds + seconds) } }
    case 'ms':
      return { headers: { ...date, 'retry-after-ms': String(Math.round(seconds * 1000)) } }
    case 'retry-info':
      return { headers: date, retryDelay: `${seconds}s` }
    case 'garbage':
      return { headers: { ...date, 'retry-after': 'soon' } }
    case 'none':
      return { headers: date }
    default:
      return assertNever(form)
  }
}

/** Does the same as `adviseRetry`, but writes no wait unless the fault asks for one. */
export function adviseRetryIfAsked(advice: RetryAdvice, nowMs: number): RetryAnswer {
  const form = advice.form ?? (advice.retryAfter === undefined ? 'none' : 'seconds')
  return adviseRetry({ ...advice, form }, nowMs)
}

function httpDate(seconds: number): string {
  return new Date(seconds * 1000).toUTCString()
}
