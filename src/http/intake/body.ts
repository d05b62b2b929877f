import type { IncomingMessage } from 'node:http'
import { invalidRequest } from '../../domain/failure.ts'
import type { Result } from '../../domain/result.ts'
import { fail, succeed } from '../../domain/result.ts'
import { BodyError } from '../../streams/bodyError.ts'
import { coalesceChunks, decodeContent, parseContentEncoding } from '../../streams/decodeContent.ts'
import type { ApiContext } from '../context.ts'
import type { HttpFailure } from '../errors.ts'
import { overloaded } from './bodyFailure.ts'
import type { BodyLease } from './byteBudget.ts'

/**
 * A client that sends nothing for so long is not coming back: its budget and its upload are freed. Nor
 * may it drip: what holds room in the budget comes at the pace of a slow uplink at least.
 */
const pace = { idleMs: 60_000, graceMs: 60_000, bytesPerSecondMin: 32 * 1024 } as const

/** Below this, chunks are gathered: see `coalesceChunks`. */
const chunkBytesMin = 4096

/** A body whose reader stopped early is read on for at most this long, to learn whether it was too large. */
const overrunMs = 10_000

/** The decompressed body of one request, within the ingress limit. Reading it throws `BodyError`. */
export type OpenBody = {
  /** A reader may leave it early; what is left can still be read by `overruns`. */
  readonly content: AsyncIterable<Uint8Array>
  /**
   * For a body refused for what it says: the refusal that counts, which is 413 when the body passes the
   * ingress limit as well (spec, Errors). Where its size is not declared, reads the rest within bounds.
   */
  readonly refusal: (failure: HttpFailure) => Promise<HttpFailure>
  readonly close: () => void
}

export type OpenBodyOptions = {
  readonly ingressLimitBytes: number
  readonly lease: BodyLease
}

/**
 * Refuses before reading what can be refused before reading (size, coding, room), then tells a client
 * that waits with `Expect: 100-continue` to go on.
 */
export async function openBody(
  context: ApiContext,
  { ingressLimitBytes, lease }: OpenBodyOptions,
): Promise<Result<OpenBody, HttpFailure>> {
  const { req, res } = context
  const codings = parseContentEncoding(req.headers['content-encoding'])
  if (!codings.ok) return fail(unsupportedCoding)
  const declaredBytes = Number(req.headers['content-length'] ?? 0)
  if (declaredBytes > ingressLimitBytes) {
    return fail({ tag: 'body_too_large', limitBytes: ingressLimitBytes })
  }
  if (!(await lease.cover(declaredBytes))) return fail(overloaded)
  if (req.headers.expect !== undefined) {
    // Set by `createServer.ts` for the case that the body is never asked for.
    res.removeHeader('Connection')
    res.writeContinue()
  }
  const source = coalesceChunks(readRequest(req, pace), chunkBytesMin)
  const chunks = covered(decodeContent(source, codings.value, ingressLimitBytes), lease)
  // Without `return`: leaving a loop over it closes nothing.
  const content = { [Symbol.asyncIterator]: () => ({ next: () => chunks.next() }) }
  const sizeIsKnown = req.headers['content-length'] !== undefined && codings.value.length === 0
  const tooLarge: HttpFailure = { tag: 'body_too_large', limitBytes: ingressLimitBytes }
  return succeed({
    content,
    refusal: async (failure) => (!sizeIsKnown && (await overruns(content)) ? tooLarge : failure),
    close: () => {
      lease.end()
      // Not awaited: it waits for a chunk that may never come.
      chunks.return(undefined).catch(() => {})
    },
  })
}

const unsupportedCoding = invalidRequest(
  'unsupported_content_encoding',
  'Content-Encoding',
  'The Content-Encoding must be gzip, deflate, br, zstd or identity.',
)

async function overruns(content: AsyncIterable<Uint8Array>): Promise<boolean> {
  const until = performance.now() + overrunMs
  try {
    for await (const chunk of content) {
      if (chunk.length > 0 && performance.now() > until) return false
    }
    return false
  } catch (error) {
    return error instanceof BodyError && error.failure.tag === 'too_large'
  }
}

/** Compressed or chunked bodies tell their size only by growing: the lease grows with them. */
async function* covered(
  source: AsyncIterable<Uint8Array>,
  lease: BodyLease,
): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const chunk of source) {
    bytes += chunk.length
    if (!(await lease.cover(bytes))) throw new BodyError({ tag: 'no_room' })
    yield chunk
  }
}

type Pace = {
  /** Nothing for so long is a stall. */
  readonly idleMs: number
  /** After so long, what came must have come at this rate or a faster one since then. */
  readonly graceMs: number
  readonly bytesPerSecondMin: number
}

/**
 * The bytes of a request as they come. Throws `BodyError`: `interrupted` when the client leaves,
 * `stalled` when it falls behind the pace: a body that drips holds room that others wait for. Leaving
 * early does not destroy the request: the connection is still needed for the answer.
 */
export async function* readRequest(
  request: IncomingMessage,
  pace: Pace,
): AsyncGenerator<Uint8Array> {
  const chunks = request.iterator({ destroyOnReturn: false })
  const startedAtMs = performance.now()
  let bytes = 0
  try {
    for (;;) {
      const step = await nextWithin(chunks, pace.idleMs)
      if (step.done === true) return
      bytes += step.value.length
      const dueMs = performance.now() - startedAtMs - pace.graceMs
      if (bytes < (dueMs / 1000) * pace.bytesPerSecondMin) throw new BodyError({ tag: 'stalled' })
      yield step.value
    }
  } finally {
    // Lets go of the request, so that what is left of it can be drained. Not awaited: see `stalled`.
    void chunks.return?.()
  }
}

async function nextWithin(
  chunks: AsyncIterator<Uint8Array>,
  idleMs: number,
): Promise<IteratorResult<Uint8Array>> {
  const stalled = Promise.withResolvers<never>()
  const timer = setTimeout(() => stalled.reject(new BodyError({ tag: 'stalled' })), idleMs)
  const interrupted = () => {
    throw new BodyError({ tag: 'interrupted' })
  }
  try {
    return await Promise.race([chunks.next().catch(interrupted), stalled.promise])
  } finally {
    clearTimeout(timer)
  }
}
