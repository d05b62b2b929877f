import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { assertNever } from '../../domain/assertNever.ts'
import type { Family } from '../../domain/models/models.ts'
import type { ErrorFault, TransferFault } from './faults.ts'

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

/** Sends the whole answer in one piece. */
export function deliverWhole(response: ServerResponse, reply: Reply): void {
  writeHead(response, reply)
  response.end(reply.body)
}

function writeHead(response: ServerResponse, { status, headers, body }: Reply): void {
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) })
}

/** Resolves when the signal aborts. */
export async function untilGone(gone: AbortSignal): Promise<void> {
  if (!gone.aborted) await once(gone, 'abort')
}

/** Sends a correct answer in a faulty way. At the index `growAt` of the body, more base64 can be inserted. */
export async function deliverTransferFault(
  response: ServerResponse,
  reply: Reply,
  fault: TransferFault,
  { growAt, gone, breaking }: { growAt: number; gone: AbortSignal; breaking: AbortController },
): Promise<void> {
  const { body } = reply
  const half = body.slice(0, Math.floor(body.length / 2))
  switch (fault.kind) {
    case 'slow': {
      writeHead(response, reply)
      const size = Math.ceil(body.length / fault.chunks)
      for (let start = 0; start < body.length; start += size) {
        if (start > 0) await sleep(fault.interval, undefined, { signal: gone })
        response.write(body.slice(start, start + size))
      }
      response.end()
      return
    }
    case 'stall':
      writeHead(response, reply)
      response.write(half)
      return
    case 'truncated':
      if (fault.how === 'json') return deliverWhole(response, { ...reply, body: half })
      writeHead(response, reply)
      response.write(half, () => {
        breaking.abort()
        response.destroy()
      })
      return
    case 'huge': {
      const padding = Buffer.alloc(1024 * 1024, 'A')
      response.writeHead(reply.status, reply.headers)
      response.write(body.slice(0, growAt))
      // Waits until the connection has sent what was written, so that memory stays small.
      for (let left = fault.bytes - (fault.bytes % 4); left > 0; left -= padding.length) {
        if (response.write(padding.subarray(0, Math.min(left, padding.length)))) continue
        await once(response, 'drain', { signal: gone })
      }
      response.end(body.slice(growAt))
      return
    }
    default:
      return assertNever(fault)
  }
}
