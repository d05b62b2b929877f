import type { IncomingMessage } from 'node:http'
import { invalidRequest } from '../../domain/failure.ts'
import { requestTextBytesMax } from '../../domain/limits.ts'
import type { Result } from '../../domain/result.ts'
import { fail, succeed } from '../../domain/result.ts'
import { coalesceChunks, decodeContent, parseContentEncoding } from '../../streams/decodeContent.ts'
import { BodyError } from '../../streams/intakeFailure.ts'
import type { ByteRoom } from '../../tasks/byteBudget.ts'
import { freeBytes } from '../../tasks/byteBudget.ts'
import type { LoopTurns } from './loopTurns.ts'
import type { ApiContext, HttpFailure } from '../context.ts'

/**
 * Limits for slow clients. A body keeps its room in the byte budget until all of it has arrived. A client is refused
 * when it sends nothing for a minute, and when it has sent less than 32 KiB for each second after the first minute.
 * Even a slow uplink is faster. The room of a refused body is free for other bodies.
 */
const pace = { idleMs: 60_000, graceMs: 60_000, bytesPerSecondMin: 32 * 1024 } as const

/**
 * The work that one chunk of a compressed body costs outside of turns: zlib decodes it in another thread and passes
 * it to the event loop.
 */
const decodeMs = 0.05

/**
 * Smaller chunks are joined until they have this size, because each chunk has a cost in every later step: see
 * `coalesceChunks`.
 */
const chunkBytesMin = 4096

/**
 * Checks what the headers say about the body (content coding, declared size). Returns the body, of which nothing is read
 * yet.
 */
export async function openBody(
  context: ApiContext,
  { ingressLimitBytes, accountId, room, textRoom, turns }: OpenBodyOptions,
): Promise<Result<OpenBody, HttpFailure>> {
  const { req } = context
  const codings = parseContentEncoding(req.headers['content-encoding'])
  if (!codings.ok || codings.value.length > 1) return fail(unsupportedCoding)
  const tooLarge: HttpFailure = { tag: 'body_too_large', limitBytes: ingressLimitBytes }
  const declaredBytes = Number(req.headers['content-length'] ?? 0)
  if (declaredBytes > ingressLimitBytes) return fail(tooLarge)
  const sent = coveredBy(room, coalesceChunks(readRequest(req, pace), chunkBytesMin))
  const decoded = coveredBy(room, decodeContent(sent, codings.value, ingressLimitBytes))
  const besidesMs = codings.value.length === 0 ? 0 : decodeMs
  const ofSmallBody = isSmallBody(req)
  const pause = () => turns.pause(accountId, { besidesMs, ofSmallBody })
  const chunks = pausingBetween(pause, decoded)
  // An iterator without `return`, so that a loop that is left early does not close the body.
  const content = { [Symbol.asyncIterator]: () => ({ next: () => chunks.next() }) }
  const sizeIsKnown = req.headers['content-length'] !== undefined && codings.value.length === 0
  return succeed({
    content,
    pause,
    refusal: async (failure) =>
      !sizeIsKnown && (await exceedsLimit(content)) ? tooLarge : failure,
    coverTexts: async (bytes) => {
      const expectedBytes = sizeIsKnown ? declaredBytes : requestTextBytesMax
      const neededBytes = bytes <= freeBytes ? bytes : Math.max(bytes, expectedBytes)
      if (!(await textRoom.cover(Math.min(neededBytes, requestTextBytesMax)))) {
        throw new BodyError({ tag: 'no_room' })
      }
    },
    close: () => {
      room.end()
      // Not awaited, because `return` may wait for a chunk that never arrives.
      chunks.return(undefined).catch(() => {})
    },
  })
}

/** Reading and accepting 8 KiB of JSON takes about half a millisecond. */
const smallBytesMax = 8 * 1024

/** Returns whether a request says that its body is small and not compressed, or that it has none. */
export function isSmallBody({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  if (headers['content-encoding'] !== undefined || headers['transfer-encoding'] !== undefined) {
    return false
  }
  return Number(headers['content-length'] ?? 0) <= smallBytesMax
}

/** The decompressed body of one request, within the ingress limit. Reading it throws `BodyError`. */
export type OpenBody = {
  /** A reader may stop early. The rest of the body can still be read afterwards. */
  readonly content: AsyncIterable<Uint8Array>
  /** Awaited between the steps of long work on the body. */
  readonly pause: () => Promise<void>
  /**
   * Returns the failure to answer with when the content of the body is invalid: `failure`, or a 413 if the body
   * exceeds the ingress limit. A body above that limit gets a 413 even if its content is also invalid. If the size of
   * the body is not known yet, this function reads on for at most ten seconds to find out.
   */
  readonly refusal: (failure: HttpFailure) => Promise<HttpFailure>
  /**
   * Takes room for the texts of the body, which stay in memory until the request is accepted. `bytes` is the size of
   * the texts that have arrived so far. Up to `freeBytes` no room is needed. Beyond that, a call takes at once all
   * the room that the rest of the body may need: if bodies took room step by step, several of them could each hold a
   * part and wait for each other. Throws a `BodyError` when there is no room.
   */
  readonly coverTexts: (bytes: number) => Promise<void>
  /** Gives the room of the body in the byte budget back, and stops reading. Its texts keep their room. */
  readonly close: () => void
}

export type OpenBodyOptions = {
  readonly ingressLimitBytes: number
  /** Whose body it is. */
  readonly accountId: string
  /** The room for the bytes of the body while they arrive. */
  readonly room: ByteRoom
  /** The room for the texts of the body. The caller ends it once the texts are no longer needed. */
  readonly textRoom: ByteRoom
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
 * Yields the chunks of `source`, and takes room for all bytes that have arrived. The size that a client declares
 * takes no room: a client could declare the largest body, send nothing, and so keep out the bodies of others.
 */
async function* coveredBy(
  room: ByteRoom,
  source: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const chunk of source) {
    bytes += chunk.length
    if (!(await room.cover(bytes))) throw new BodyError({ tag: 'no_room' })
    yield chunk
  }
}

async function* pausingBetween(
  pause: () => Promise<void>,
  source: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of source) {
    await pause()
    yield chunk
  }
}

type Pace = {
  /** The longest time in which no byte arrives. */
  readonly idleMs: number
  /** The minimum rate is checked only after this time. */
  readonly graceMs: number
  readonly bytesPerSecondMin: number
}

/**
 * Yields the bytes of a request as they arrive. Throws a `BodyError`: `interrupted` when the client leaves,
 * and `stalled` when the body arrives slower than `pace` allows. A reader may stop early. The request is then
 * not destroyed, because its connection is still needed for the answer.
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
    // Ends the reading of the request, so that `discardRest` can read what is left. The end is not awaited, because
    // `return` waits for the pending chunk, and after a stall that chunk may never arrive.
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
