import type { IncomingMessage } from 'node:http'
import { invalidRequest } from '../../domain/failure.ts'
import type { Result } from '../../domain/result.ts'
import { fail, succeed } from '../../domain/result.ts'
import { coalesceChunks, decodeContent, parseContentEncoding } from '../../streams/decodeContent.ts'
import { BodyError } from '../../streams/intakeFailure.ts'
import type { BodyLease } from './byteBudget.ts'
import type { LoopTurns } from './loopTurns.ts'
import type { ApiContext, HttpFailure } from '../context.ts'

/**
 * A body keeps its room in the byte budget while the rest of it arrives. A client that sends nothing for a
 * minute, or less than a slow uplink can send, is refused, so that other bodies get its room.
 */
const pace = { idleMs: 60_000, graceMs: 60_000, bytesPerSecondMin: 32 * 1024 } as const

/** Smaller chunks are joined: see `coalesceChunks`. */
const chunkBytesMin = 4096

/**
 * Checks everything that the headers show (content coding, declared size), then tells a client that sent
 * `Expect: 100-continue` to send the body.
 */
export async function openBody(
  context: ApiContext,
  { ingressLimitBytes, lease, turns }: OpenBodyOptions,
): Promise<Result<OpenBody, HttpFailure>> {
  const { req, res } = context
  const codings = parseContentEncoding(req.headers['content-encoding'])
  if (!codings.ok || codings.value.length > 1) return fail(unsupportedCoding)
  const tooLarge: HttpFailure = { tag: 'body_too_large', limitBytes: ingressLimitBytes }
  const declaredBytes = Number(req.headers['content-length'] ?? 0)
  if (declaredBytes > ingressLimitBytes) return fail(tooLarge)
  if (req.headers.expect !== undefined) {
    // `createServer.ts` set it for a request that is refused before its body is asked for.
    res.removeHeader('Connection')
    res.writeContinue()
  }
  const sent = coveredBy(lease, coalesceChunks(readRequest(req, pace), chunkBytesMin))
  const decoded = coveredBy(lease, decodeContent(sent, codings.value, ingressLimitBytes))
  const chunks = pausingBetween(turns, decoded)
  // An iterator without `return`, so that a loop that is left early does not close the body.
  const content = { [Symbol.asyncIterator]: () => ({ next: () => chunks.next() }) }
  const sizeIsKnown = req.headers['content-length'] !== undefined && codings.value.length === 0
  return succeed({
    content,
    refusal: async (failure) =>
      !sizeIsKnown && (await exceedsLimit(content)) ? tooLarge : failure,
    close: () => {
      lease.end()
      // Not awaited: it may wait for a chunk that never arrives.
      chunks.return(undefined).catch(() => {})
    },
  })
}

/** The decompressed body of one request, within the ingress limit. Reading it throws `BodyError`. */
export type OpenBody = {
  /** A reader may stop early. The rest can still be read afterwards. */
  readonly content: AsyncIterable<Uint8Array>
  /**
   * The failure to answer when the content of the body is refused: a body beyond the ingress limit is a 413,
   * whatever else is wrong with it. Reads on for at most ten seconds when the size is not known yet.
   */
  readonly refusal: (failure: HttpFailure) => Promise<HttpFailure>
  /** Gives the room in the byte budget back, and stops reading. */
  readonly close: () => void
}

export type OpenBodyOptions = {
  readonly ingressLimitBytes: number
  readonly lease: BodyLease
  readonly turns: LoopTurns
}

/** Several codings multiply the size to which a small body unpacks, and no client needs them. */
const unsupportedCoding = invalidRequest(
  'unsupported_content_encoding',
  'Content-Encoding',
  'The Content-Encoding must be one of gzip, deflate, br, zstd and identity.',
)

const readOnMs = 10_000

async function exceedsLimit(content: AsyncIterable<Uint8Array>): Promise<boolean> {
  const endsAtMs = performance.now() + readOnMs
  try {
    for await (const _ of content) {
      if (performance.now() > endsAtMs) return false
    }
    return false
  } catch (error) {
    return error instanceof BodyError && error.failure.tag === 'too_large'
  }
}

/**
 * The lease of a body grows with the bytes that have arrived. A declared size takes no room: a client could
 * declare the largest body, send nothing, and so keep out the bodies of others.
 */
async function* coveredBy(
  lease: BodyLease,
  source: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const chunk of source) {
    bytes += chunk.length
    if (!(await lease.cover(bytes))) throw new BodyError({ tag: 'no_room' })
    yield chunk
  }
}

async function* pausingBetween(
  turns: LoopTurns,
  source: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of source) {
    await turns.pause()
    yield chunk
  }
}

type Pace = {
  /** The longest time without any byte. */
  readonly idleMs: number
  /** The minimum rate counts from this time on. */
  readonly graceMs: number
  readonly bytesPerSecondMin: number
}

/**
 * The bytes of a request as they arrive. Throws `BodyError`: `interrupted` when the client leaves,
 * `stalled` when the body arrives slower than `pace` allows. A reader that stops early does not destroy the
 * request: its connection is still needed for the answer.
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
      const checkedMs = performance.now() - startedAtMs - pace.graceMs
      if (bytes < (checkedMs / 1000) * pace.bytesPerSecondMin)
        throw new BodyError({ tag: 'stalled' })
      yield step.value
    }
  } finally {
    // Releases the request, so that `discardRest` can read what is left of it. Not awaited: it waits for the
    // pending chunk, which may never arrive when the body stalled.
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
