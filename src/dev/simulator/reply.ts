import { assertNever } from '../../domain/assertNever.ts'
import type { Family } from '../../domain/models/models.ts'
import type { ErrorFault } from './faults.ts'

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

/** Makes the HTML answer of a proxy in front of the vendor, which does not use the vendor's error format. */
export function htmlReply(status: number, title: string, headers: Headers = {}): Reply {
  const body = `<html>\r\n<head><title>${title}</title></head>\r\n<body>\r\n<center><h1>${title}</h1></center>\r\n</body>\r\n</html>\r\n`
  return { status, headers: { 'content-type': 'text/html', ...headers }, body }
}

/**
 * Writes how long to wait, in the form that the fault asks for; nothing when it asks for nothing.
 * `retryDelay` is for the error details of family A: the wait as a Duration of Protocol Buffers, such as
 * `1.5s`. Family B has no such detail and sends the wait in a header.
 */
export function adviseRetry(
  family: Family,
  fault: ErrorFault,
  nowMs: number,
): { readonly headers: Headers; readonly retryDelay?: string } {
  if (fault.kind !== '429' && fault.kind !== '503' && fault.kind !== '503-html') {
    return { headers: {} }
  }
  const { retryAfter, form: asked = retryAfter === undefined ? 'none' : 'seconds' } = fault
  const seconds = retryAfter ?? 1
  const form = family === 'B' && asked === 'retry-info' ? 'seconds' : asked
  switch (form) {
    case 'seconds':
      return { headers: { 'retry-after': String(seconds) } }
    case 'date': {
      // Counted from the answer's own Date header, which has whole seconds.
      const date = Math.floor(nowMs / 1000)
      return { headers: { date: httpDate(date), 'retry-after': httpDate(date + seconds) } }
    }
    case 'ms':
      return { headers: { 'retry-after-ms': String(Math.round(seconds * 1000)) } }
    case 'retry-info':
      return { headers: {}, retryDelay: `${seconds}s` }
    case 'garbage':
      return { headers: { 'retry-after': 'soon' } }
    case 'none':
      return { headers: {} }
    default:
      return assertNever(form)
  }
}

function httpDate(seconds: number): string {
  return new Date(seconds * 1000).toUTCString()
}
