import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { assertNever } from '../../domain/assertNever.ts'
import type { ConnectionFault, TransferFault } from './faults.ts'
import type { Reply } from './reply.ts'
import { htmlReply } from './reply.ts'

/** The connection over which an answer is sent. */
export type Delivery = {
  readonly response: ServerResponse
  /** Aborts when the answer is over: it was sent completely, or the client or the simulator closed the connection. */
  readonly gone: AbortSignal
  /** Call this before the simulator breaks the connection. Otherwise the log says that the client left. */
  readonly breaking: () => void
}

/** Sends the whole answer in one piece. */
export function deliverWhole({ response }: Delivery, reply: Reply): void {
  writeHead(response, reply)
  response.end(reply.body)
}

/** Answers with a fault that needs no image. Resolves when there is nothing more to do. */
export async function deliverConnectionFault(
  delivery: Delivery,
  fault: ConnectionFault,
  redirectUrl: string,
): Promise<void> {
  switch (fault.kind) {
    case 'reset':
      delivery.breaking()
      delivery.response.socket?.resetAndDestroy()
      return
    case 'hang':
      return untilGone(delivery.gone)
    case 'html':
      return deliverWhole(delivery, htmlReply(200, 'Welcome to nginx!'))
    case 'empty': {
      const headers = { 'content-type': 'application/json' }
      return deliverWhole(delivery, { status: 200, headers, body: '' })
    }
    case 'redirect': {
      const headers = { location: redirectUrl, 'content-type': 'text/plain' }
      return deliverWhole(delivery, { status: fault.status ?? 302, headers, body: '' })
    }
    default:
      return assertNever(fault)
  }
}

const defaultChunks = 20
const defaultIntervalMs = 500
const defaultHugeBytes = 500_000_000

/** Sends a correct answer in a faulty way. At the index `growAt` of the body, more base64 can be inserted. */
export async function deliverTransferFault(
  delivery: Delivery,
  reply: Reply,
  fault: TransferFault,
  growAt: number,
): Promise<void> {
  const { response, gone } = delivery
  const half = reply.body.slice(0, Math.floor(reply.body.length / 2))
  switch (fault.kind) {
    case 'slow':
      return drip(
        delivery,
        reply,
        fault.chunks ?? defaultChunks,
        fault.interval ?? defaultIntervalMs,
      )
    case 'stall':
      writeHead(response, reply)
      response.write(half)
      return untilGone(gone)
    case 'truncated':
      if (fault.how === 'json') return deliverWhole(delivery, { ...reply, body: half })
      writeHead(response, reply)
      response.write(half, () => {
        delivery.breaking()
        response.destroy()
      })
      return untilGone(gone)
    case 'huge':
      return sendHuge(delivery, reply, fault.bytes ?? defaultHugeBytes, growAt)
    default:
      return assertNever(fault)
  }
}

async function drip(
  { response, gone }: Delivery,
  reply: Reply,
  chunks: number,
  intervalMs: number,
): Promise<void> {
  writeHead(response, reply)
  const size = Math.ceil(reply.body.length / chunks)
  for (let start = 0; start < reply.body.length; start += size) {
    if (start > 0) await sleep(intervalMs, undefined, { signal: gone })
    response.write(reply.body.slice(start, start + size))
  }
  response.end()
}

/**
 * Inserts base64 zeros, 1 MiB at a time. Waits each time until the connection has sent them, so that memory
 * stays small.
 */
async function sendHuge(
  { response, gone }: Delivery,
  reply: Reply,
  bytes: number,
  growAt: number,
): Promise<void> {
  const padding = Buffer.alloc(1024 * 1024, 'A')
  response.writeHead(reply.status, reply.headers)
  response.write(reply.body.slice(0, growAt))
  for (let left = bytes - (bytes % 4); left > 0; left -= padding.length) {
    if (!response.write(padding.subarray(0, Math.min(left, padding.length)))) {
      await once(response, 'drain', { signal: gone })
    }
  }
  response.end(reply.body.slice(growAt))
}

function writeHead(response: ServerResponse, reply: Reply): void {
  response.writeHead(reply.status, {
    ...reply.headers,
    'content-length': Buffer.byteLength(reply.body),
  })
}

async function untilGone(gone: AbortSignal): Promise<void> {
  if (!gone.aborted) await once(gone, 'abort')
}
