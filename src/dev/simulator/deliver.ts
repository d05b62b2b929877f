import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { assertNever } from '../../domain/assertNever.ts'
import type { DeliveryFault } from './faults.ts'
import { htmlReply, type Reply } from './reply.ts'

export type Delivery = {
  readonly response: ServerResponse
  /** Fires when the connection is gone, whoever ended it. */
  readonly gone: AbortSignal
  /** Called before the simulator itself breaks the connection, so that nobody blames the client. */
  readonly breaking: () => void
}

/** Writes the answer, whole and at once. */
export function deliverWhole({ response }: Delivery, reply: Reply): void {
  writeHead(response, reply)
  response.end(reply.body)
}

/** Faults that need no image: resolves when there is nothing more to do. */
export type EarlyFault = Extract<
  DeliveryFault,
  { kind: 'reset' | 'hang' | 'html' | 'empty' | 'redirect' }
>

export function isEarlyFault(fault: DeliveryFault): fault is EarlyFault {
  return ['reset', 'hang', 'html', 'empty', 'redirect'].includes(fault.kind)
}

export async function deliverEarly(
  delivery: Delivery,
  fault: EarlyFault,
  elsewhere: string,
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
    case 'empty':
      return deliverWhole(delivery, jsonBody(''))
    case 'redirect': {
      const headers = { location: elsewhere, 'content-type': 'text/plain' }
      return deliverWhole(delivery, { status: fault.status ?? 302, headers, body: '' })
    }
    default:
      return assertNever(fault)
  }
}

export type LateFault = Exclude<DeliveryFault, EarlyFault>

const defaultChunks = 20
const defaultIntervalMs = 500
const defaultHugeBytes = 500_000_000

/** Faults in the way an answer is sent. `growAt`: where in the body further base64 may be put in. */
export async function deliverBroken(
  delivery: Delivery,
  reply: Reply,
  fault: LateFault,
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

/** Base64 zeros, a MiB at a time, never more in memory than the connection takes. */
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

function jsonBody(body: string): Reply {
  return { status: 200, headers: { 'content-type': 'application/json' }, body }
}

async function untilGone(gone: AbortSignal): Promise<void> {
  if (!gone.aborted) await once(gone, 'abort')
}
