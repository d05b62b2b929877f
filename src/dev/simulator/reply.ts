import { assertNever } from '../../domain/assertNever.ts'
import { defined } from '../../domain/defined.ts'
import type { RetryForm } from './faults.ts'

type Headers = Readonly<Record<string, string>>

/** A complete HTTP answer, before a fault changes how it is sent. */
export type Reply = { readonly status: number; readonly headers: Headers; readonly body: string }

/** A JSON answer. `headers` are added to its content type. */
export function jsonReply(status: number, body: unknown, headers: Headers = {}): Reply {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=UTF-8', ...headers },
    body: JSON.stringify(body),
  }
}

/** The HTML of a proxy or load balancer in front of the vendor, which knows no vendor's error format. */
export function htmlReply(status: number, title: string, headers: Headers = {}): Reply {
  const body = `<html>\r\n<head><title>${title}</title></head>\r\n<body>\r\n<center><h1>${title}</h1></center>\r\n</body>\r\n</html>\r\n`
  return { status, headers: { 'content-type': 'text/html', ...headers }, body }
}

/** The retry fields of a fault: seconds to wait, how to write them, and the error of the server's clock. */
export type RetryAdvice = {
  readonly retryAfter?: number | undefined
  readonly form?: RetryForm | undefined
  readonly skew?: number | undefined
}

export type RetryAnswer = {
  readonly headers: Headers
  /** For family A's error details: the wait as a Duration of Protocol Buffers, such as `1.5s`. */
  readonly retryDelay?: string
}

const defaultRetryAfterSeconds = 1

/** Writes "retry after" in the asked form: one second in the header `Retry-After` unless said otherwise. */
export function adviseRetry(advice: RetryAdvice, nowMs: number): RetryAnswer {
  const seconds = advice.retryAfter ?? defaultRetryAfterSeconds
  const form = advice.form ?? 'seconds'
  // The date form counts from the whole second of the answer's own Date header, so that Retry-After minus
  // Date is exactly the asked wait.
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

/** As `adviseRetry`, for answers that contain no advice unless the fault asks for it. */
export function adviseRetryIfAsked(advice: RetryAdvice, nowMs: number): RetryAnswer {
  const form = advice.form ?? (advice.retryAfter === undefined ? 'none' : 'seconds')
  return adviseRetry({ ...advice, form }, nowMs)
}

function httpDate(seconds: number): string {
  return new Date(seconds * 1000).toUTCString()
}
