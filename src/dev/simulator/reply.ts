import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { assertNever } from '../../domain/assertNever.ts'
import { defined } from '../../domain/defined.ts'
import type { RetryForm, TransferFault } from './faults.ts'

type Headers = Readonly<Record<string, string>>

/** A complete HTTP answer, before a fault changes how it is sent. */
export type Reply = {
  readonly status: number
  readonly headers: Headers
  readonly body: string | Buffer
}

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

/** Returns the headers that say how long to wait, in the form that a fault asks for. */
export function retryHeaders(form: RetryForm, seconds: number): Headers {
  switch (form) {
    case 'seconds':
    case 'retry-info':
      return { 'retry-after': String(seconds) }
    case 'date': {
      // Counted from the answer's own Date header, which has whole seconds.
      const nowMs = Math.floor(Date.now() / 1000) * 1000
      const [date, end] = [nowMs, nowMs + seconds * 1000].map((ms) => new Date(ms).toUTCString())
      return defined({ date, 'retry-after': end })
    }
    case 'ms':
      return { 'retry-after-ms': String(Math.round(seconds * 1000)) }
    case 'garbage':
      return { 'retry-after': 'soon' }
    case 'text':
    case 'none':
      return {}
    default:
      return assertNever(form)
  }
}

/** Resolves when the signal aborts. */
export async function untilGone(gone: AbortSignal): Promise<void> {
  if (!gone.aborted) await once(gone, 'abort')
}

/** Sends an answer, in a faulty way if the fault asks for that. */
export async function deliver(
  response: ServerResponse,
  { status, headers, body: content }: Reply,
  fault?: TransferFault,
  gone?: AbortSignal,
): Promise<void> {
  const whole = { ...headers, 'content-length': Buffer.byteLength(content) }
  const body = content.toString()
  const half = body.slice(0, Math.floor(body.length / 2))
  const pause = defined({ signal: gone })
  switch (fault?.kind) {
    case undefined:
      response.writeHead(status, whole).end(content)
      return
    case 'reset':
      response.socket?.resetAndDestroy()
      return
    case 'hang':
      return
    case 'slow': {
      response.writeHead(status, whole)
      const size = Math.ceil(body.length / fault.chunks)
      for (let start = 0; start < body.length; start += size) {
        if (start > 0) await sleep(fault.interval, undefined, pause)
        response.write(body.slice(start, start + size))
      }
      response.end()
      return
    }
    case 'stall':
      response.writeHead(status, whole).write(half)
      return
    case 'truncated':
      if (fault.how === 'json') response.writeHead(status, headers).end(half)
      else response.writeHead(status, whole).write(half, () => response.destroy())
      return
    case 'huge': {
      const padding = Buffer.alloc(1024 * 1024, 'A')
      // More base64 fits after any four letters of the first image.
      const { 0: head, index } = /"(?:data|b64_json)":".{64}/.exec(body) ?? { 0: '', index: 0 }
      const growAt = index + head.length
      response.writeHead(status, headers).write(body.slice(0, growAt))
      // Waits until the connection has sent what was written, so that memory stays small.
      for (let left = fault.bytes - (fault.bytes % 4); left > 0; left -= padding.length) {
        if (response.write(padding.subarray(0, Math.min(left, padding.length)))) continue
        await once(response, 'drain', pause)
      }
      response.end(body.slice(growAt))
      return
    }
    default:
      return assertNever(fault)
  }
}
