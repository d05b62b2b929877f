import type { IncomingMessage } from 'node:http'
import type { RequestFailure } from '../../domain/failure.ts'
import { invalidRequest } from '../../domain/failure.ts'
import type { Result } from '../../domain/result.ts'
import { fail, succeed } from '../../domain/result.ts'
import type { ByteRoom } from '../../bytes/byteBudget.ts'
import { createByteCollector } from '../../bytes/byteCollector.ts'
import type { ContentCoding } from '../../bytes/codings.ts'
import { contentCoding, unpack } from '../../bytes/codings.ts'
import type { ApiContext } from '../requestState.ts'

/** The first bytes of a body, which take no room in the budget. */
export const freeBodyBytes = 64 * 1024

/** Returns whether a request has a body, according to its headers. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
}

export type BodyOptions = {
  /** The maximum size of the body, as it is sent and also unpacked. */
  readonly limitBytes: number
  /** The room of the body. The caller ends it once nothing that was read from the body is needed any more. */
  readonly room: ByteRoom
}

/**
 * Reads the body of a request, and unpacks it. First checks what the headers say about it. A body beyond the limit is a
 * 413, whatever it contains.
 */
export async function readBody(
  context: ApiContext,
  options: BodyOptions,
): Promise<Result<Buffer, RequestFailure>> {
  const { headers } = context.req
  const named = contentCoding(headers['content-encoding'])
  if (!named.ok) return fail(unsupportedCoding)
  const coding = named.value
  const { limitBytes, room } = options
  if (Number(headers['content-length'] ?? 0) > limitBytes) return fail(tooLarge(limitBytes))
  // A client that leaves waits for room no longer.
  context.res.once('close', room.end)
  try {
    const sent = await receive(context, options)
    return sent.ok && coding !== undefined ? await unpackBody(sent.value, coding, options) : sent
  } finally {
    context.res.off('close', room.end)
  }
}

async function unpackBody(
  sent: Buffer,
  coding: ContentCoding,
  { limitBytes, room }: BodyOptions,
): Promise<Result<Buffer, RequestFailure>> {
  const cover = (bytes: number) => room.cover(sent.length + bytes)
  const unpacked = await unpack(sent, coding, limitBytes, { cover })
  const failures = {
    too_large: tooLarge(limitBytes),
    no_room: overloaded,
    corrupt_coding: corruptCoding,
  }
  return unpacked.ok ? unpacked : fail(failures[unpacked.failure])
}

/** Reads the bytes of a body as they were sent. While the body waits for room, nothing more of it is read. */
async function receive(
  { req }: ApiContext,
  { limitBytes, room }: BodyOptions,
): Promise<Result<Buffer, RequestFailure>> {
  // A client that left during authentication sends no further events.
  if (req.destroyed) return fail(interrupted)
  const { promise, resolve } = Promise.withResolvers<Result<Buffer, RequestFailure>>()
  const length = req.headers['content-length']
  const expectedBytes = length === undefined ? undefined : Number(length)
  const collected = createByteCollector(limitBytes, expectedBytes)

  function onData(chunk: Buffer): void {
    if (!collected.add(chunk)) return resolve(fail(tooLarge(limitBytes)))
    const covered = room.cover(collected.length())
    if (covered !== true) void waitForRoom(covered)
  }

  async function waitForRoom(covered: Promise<boolean>): Promise<void> {
    req.pause()
    if (await covered) req.resume()
    else resolve(fail(overloaded))
  }

  const onEnd = () => resolve(succeed(collected.bytes()))
  const onClose = () => resolve(fail(interrupted))
  const onStalled = () => resolve(fail(stalled))
  req.on('data', onData)
  req.once('end', onEnd)
  req.once('close', onClose)
  // The timer of the connection is set by `server.ts`.
  req.once('timeout', onStalled)
  try {
    return await promise
  } finally {
    // After a refusal the server reads on, when the memory of the body is free already. And a synchronous call may wait
    // for minutes: a listener would keep the body in memory for as long.
    req.off('data', onData)
    req.off('end', onEnd)
    req.off('close', onClose)
    req.off('timeout', onStalled)
  }
}

/** Returns the failure for a body that cannot be read in the way that its headers say. */
export function unreadable(message: string): RequestFailure {
  return invalidRequest('read_request_body_failed', null, message)
}

function tooLarge(limitBytes: number): RequestFailure {
  return { tag: 'body_too_large', limitBytes }
}

/** Failure for a body that found no room in the budget. */
const overloaded: RequestFailure = { tag: 'overloaded', retryAfterSeconds: 5 }
const unsupportedCoding = invalidRequest(
  'unsupported_content_encoding',
  'Content-Encoding',
  'The Content-Encoding must be one of gzip, deflate, br, zstd and identity.',
)
const corruptCoding = unreadable('The request body does not match its Content-Encoding.')
const stalled = unreadable('The request body did not arrive in time.')
/** Nobody reads this answer, because the client has left. */
const interrupted = unreadable('The request body broke off.')
