import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { assertNever } from '../../domain/assertNever.ts'
import type { TransferFault } from './faults.ts'
import type { Reply } from './reply.ts'

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

type Connection = {
  readonly response: ServerResponse
  readonly gone: AbortSignal
  readonly breaking: AbortController
}

/** Sends a correct answer in a faulty way. At the index `growAt` of the body, more base64 can be inserted. */
export async function deliverTransferFault(
  { response, gone, breaking }: Connection,
  reply: Reply,
  fault: TransferFault,
  growAt: number,
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
