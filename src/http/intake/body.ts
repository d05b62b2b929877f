import { defined } from '../../domain/defined.ts'
import type { RequestFailure } from '../../domain/failure.ts'
import { invalidRequest } from '../../domain/failure.ts'
import type { Result } from '../../domain/result.ts'
import { fail, succeed } from '../../domain/result.ts'
import { createByteCollector } from '../../streams/byteCollector.ts'
import type { ContentCoding } from '../../streams/codings.ts'
import { parseContentEncoding, unpack } from '../../streams/codings.ts'
import type { ByteRoom } from '../../tasks/byteBudget.ts'
import type { ApiContext } from '../context.ts'

/** The first bytes of a body, which take no room in the budget. */
export const freeBodyBytes = 64 * 1024

export type BodyOptions = {
  /** The maximum size of the body, as it is sent and also unpacked. */
  readonly limitBytes: number
  /** The room of the body. The caller ends it once nothing that was read from the body is needed any more. */
  readonly room: ByteRoom
  /** A client that sends nothing for this long is refused. Default: a minute. */
  readonly idleMs?: number
}

/**
 * Reads the body of a request, and unpacks it. First checks what the headers say about it, and tells a client that
 * sent `Expect: 100-continue` to send the body. A body beyond the limit is a 413, whatever it contains.
 */
export async function readBody(
  context: ApiContext,
  { limitBytes, room, idleMs = 60_000 }: BodyOptions,
): Promise<Result<Buffer, RequestFailure>> {
  const { req, res } = context
  const codings = parseContentEncoding(req.headers['content-encoding'])
  if (!codings.ok || codings.value.length > 1) return fail(unsupportedCoding)
  const tooLarge: RequestFailure = { tag: 'body_too_large', limitBytes }
  const declaredBytes = declaredLength(context)
  if (declaredBytes !== undefined && declaredBytes > limitBytes) return fail(tooLarge)
  if (req.headers.expect !== undefined) {
    // The server set `Connection: close`, for an error answer before the body. Now the body will follow.
    res.removeHeader('Connection')
    res.writeContinue()
  }
  const sent = await receive(context, { limitBytes, room, idleMs, ...defined({ declaredBytes }) })
  const [coding] = codings.value
  if (sent === 'too_large') return fail(tooLarge)
  if (!sent.ok || coding === undefined) return sent
  return unpackWithin(sent.value, coding, { limitBytes, room })
}

/** Failure for a body that found no room in the budget. */
const overloaded: RequestFailure = { tag: 'overloaded', retryAfterSeconds: 5 }

const unsupportedCoding = invalidRequest(
  'unsupported_content_encoding',
  'Content-Encoding',
  'The Content-Encoding must be one of gzip, deflate, br, zstd and identity.',
)

/** Returns the failure for a body that cannot be read in the way that its headers say. */
export function unreadable(message: string): RequestFailure {
  return invalidRequest('read_request_body_failed', null, message)
}

function declaredLength({ req }: ApiContext): number | undefined {
  const length = req.headers['content-length']
  return length === undefined ? undefined : Number(length)
}

/** Reads the bytes of a body. While the body waits for room, nothing more of it is read. */
async function receive(
  { req, res }: ApiContext,
  { limitBytes, room, idleMs, declaredBytes }: Required<BodyOptions> & { declaredBytes?: number },
): Promise<Result<Buffer, RequestFailure> | 'too_large'> {
  // A client that left during authentication sends no further events.
  if (req.destroyed) return fail(interrupted)
  const { promise, resolve } = Promise.withResolvers<Awaited<ReturnType<typeof receive>>>()
  const collected = createByteCollector(limitBytes, declaredBytes)

  function onData(chunk: Buffer): void {
    if (!collected.add(chunk)) return resolve('too_large')
    const covered = room.cover(collected.length())
    if (covered !== true) void waitForRoom(covered)
  }

  async function waitForRoom(covered: Promise<boolean>): Promise<void> {
    req.pause()
    if (await covered) req.resume()
    else resolve(fail(overloaded))
  }

  req.on('data', onData)
  req.once('end', () => resolve(succeed(collected.bytes())))
  req.once('close', () => resolve(fail(interrupted)))
  req.setTimeout(idleMs, () => resolve(fail(stalled)))
  res.once('close', room.end)
  try {
    return await promise
  } finally {
    req.off('data', onData)
    res.off('close', room.end)
  }
}

/** Nobody reads this answer, because the client has left. */
const interrupted = unreadable('The request body broke off.')
const stalled = unreadable('The request body did not arrive in time.')

/**
 * Unpacks a body and takes room for the result without a wait: nobody knows its size before, and bodies that wait when
 * they are unpacked already would take memory without a limit.
 */
async function unpackWithin(
  sent: Buffer,
  coding: ContentCoding,
  { limitBytes, room }: Omit<BodyOptions, 'idleMs'>,
): Promise<Result<Buffer, RequestFailure>> {
  const unpacked = await unpack(sent, coding, limitBytes)
  if (unpacked.ok) {
    const hasRoom = await room.cover(unpacked.value.length, 0)
    return hasRoom ? unpacked : fail(overloaded)
  }
  return fail(
    unpacked.failure.tag === 'too_large'
      ? { tag: 'body_too_large', limitBytes }
      : unreadable('The request body does not match its Content-Encoding.'),
  )
}
