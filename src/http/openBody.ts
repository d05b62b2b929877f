import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import { invalidRequest } from '../domain/requestFailure.ts'
import { BodyError } from '../streams/bodyError.ts'
import { coalesceChunks } from '../streams/coalesceChunks.ts'
import { parseContentEncoding } from '../streams/contentCoding.ts'
import { decodeContent } from '../streams/decodeContent.ts'
import type { ApiContext } from './apiContext.ts'
import type { BodyLease } from './bodyLease.ts'
import type { HttpFailure } from './httpFailure.ts'
import { overloaded } from './bodyFailure.ts'
import { readRequest } from './readRequest.ts'

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
