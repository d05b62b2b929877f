import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import * as zlib from 'node:zlib'
import { assertNever } from '../domain/assertNever.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import { BodyError } from './intakeFailure.ts'

/**
 * Decodes a body while it streams, starting with the coding that was applied last. Both the bytes as sent and
 * the decoded bytes may be at most `bytesMax`. (The `maxOutputLength` of zlib has no effect on streams.)
 * Throws `BodyError`. When `source` throws, first yields what was decoded until then, and then throws the
 * same error.
 */
export async function* decodeContent(
  source: AsyncIterable<Uint8Array>,
  codings: readonly ContentCoding[],
  bytesMax: number,
  cutOff: CutOff = 'fails',
): AsyncGenerator<Uint8Array> {
  let content: AsyncIterable<Uint8Array> = limitBytes(source, bytesMax)
  for (const coding of codings.toReversed()) {
    // Each step has its own limit: with several codings, an intermediate result may already be too large.
    content = limitBytes(decodeOne(content, coding, cutOff), bytesMax)
  }
  yield* content
}

export type ContentCoding = 'gzip' | 'deflate' | 'br' | 'zstd'

/**
 * What happens when the content stops before the end of its coding. `fails`: the coding counts as corrupt.
 * `ends`: the content is decoded as far as it goes. This is for a reader that checks for itself whether the
 * content is complete.
 */
type CutOff = 'fails' | 'ends'

/**
 * Limit for the memory of a zstd decoder: 2 to this power is 8 MiB, the largest window in HTTP (RFC 9659).
 * The default of zlib would allow 128 MiB for each body.
 */
const zstdWindowLogMax = 23

/**
 * Size of a decoded chunk. Small, because decoded chunks lie outside V8's heap and are freed late when little
 * else is allocated. With zlib's default of 16 KiB, reading a large body and only counting its bytes used 30
 * MiB more memory.
 */
const chunkSize = 4 * 1024

async function* decodeOne(
  source: AsyncIterable<Uint8Array>,
  coding: ContentCoding,
  cutOff: CutOff,
): AsyncGenerator<Uint8Array> {
  const chunks = source[Symbol.asyncIterator]()
  try {
    const first = await chunks.next()
    if (first.done === true) throw new BodyError({ tag: 'corrupt_coding' })
    const decoder = createDecoder(coding, first.value, cutOff)
    const sent = sendTo(first.value, chunks, coding)
    // An error here also destroys the decoder. The loop below then gets the same error, so it is ignored
    // here.
    const written = pipeline(Readable.from(sent.chunks), decoder).catch(() => {})
    try {
      for await (const chunk of decoder) yield chunk
    } catch {
      throw sent.failure() ?? new BodyError({ tag: 'corrupt_coding' })
    } finally {
      decoder.destroy()
    }
    // A decoder that has reached the end of its coding ignores all further bytes. The rest is read to find
    // out whether it contains anything but padding.
    if (cutOff === 'fails') {
      await written
      await sent.rest()
    }
    const failure = sent.failure()
    if (failure !== undefined) throw failure
    if (cutOff === 'fails' && decoder.bytesWritten < sent.endsAt()) {
      throw new BodyError({ tag: 'corrupt_coding' })
    }
  } finally {
    // Not awaited, because `return` waits for a chunk that may never arrive.
    chunks.return?.().catch(() => {})
  }
}

type Sent = {
  readonly chunks: AsyncIterable<Uint8Array>
  /** Reads to the end what the decoder has not read. */
  readonly rest: () => Promise<void>
  /** Returns the number of bytes up to the last byte that is not padding, including that byte. */
  readonly endsAt: () => number
  /** Returns the error of the source, if the source ended with an error. */
  readonly failure: () => Error | undefined
}

/**
 * Returns the chunks for a decoder, as a stream that never fails. If the stream failed, the pipeline would
 * destroy the decoder and lose what it has already decoded. So an error of the source is kept in `failure`
 * instead.
 */
function sendTo(first: Uint8Array, others: AsyncIterator<Uint8Array>, coding: ContentCoding): Sent {
  let failure: Error | undefined
  let bytes = 0
  let endsAt = 0
  const see = (chunk: Uint8Array): Uint8Array => {
    // In gzip, zeros after the end of the coding are padding.
    const last = coding === 'gzip' ? chunk.findLastIndex((byte) => byte !== 0) : chunk.length - 1
    if (last >= 0) endsAt = bytes + last + 1
    bytes += chunk.length
    return chunk
  }
  const next = async (): Promise<Uint8Array | undefined> => {
    try {
      const step = await others.next()
      return step.done === true ? undefined : see(step.value)
    } catch (error) {
      failure = error instanceof Error ? error : new Error('The body broke off', { cause: error })
      return undefined
    }
  }
  const chunks = async function* (): AsyncGenerator<Uint8Array> {
    yield see(first)
    for (let chunk = await next(); chunk !== undefined; chunk = await next()) yield chunk
  }
  return {
    chunks: chunks(),
    rest: async () => {
      while ((await next()) !== undefined);
    },
    endsAt: () => endsAt,
    failure: () => failure,
  }
}

function createDecoder(coding: ContentCoding, firstBytes: Uint8Array, cutOff: CutOff): Decoder {
  // By default zlib fails when the input stops before the end of the coding. With a flush as the last
  // operation, zlib does not fail.
  const ending = (flush: number) => (cutOff === 'ends' ? { finishFlush: flush } : {})
  const { Z_SYNC_FLUSH, BROTLI_OPERATION_FLUSH, ZSTD_e_flush } = zlib.constants
  const options = { chunkSize, ...ending(Z_SYNC_FLUSH) }
  switch (coding) {
    case 'gzip':
      return zlib.createGunzip(options)
    case 'deflate':
      return startsAsZlib(firstBytes) ? zlib.createInflate(options) : zlib.createInflateRaw(options)
    case 'br':
      return zlib.createBrotliDecompress({ chunkSize, ...ending(BROTLI_OPERATION_FLUSH) })
    case 'zstd':
      return zlib.createZstdDecompress({
        chunkSize,
        ...ending(ZSTD_e_flush),
        params: { [zlib.constants.ZSTD_d_windowLogMax]: zstdWindowLogMax },
      })
    default:
      return assertNever(coding)
  }
}

type Decoder =
  | zlib.Gunzip
  | zlib.Inflate
  | zlib.InflateRaw
  | zlib.BrotliDecompress
  | zlib.ZstdDecompress

/**
 * Returns whether a `deflate` body is in the zlib format, as RFC 9110 section 8.4.1.2 says. Some clients send
 * deflate data without the zlib header instead.
 */
function startsAsZlib(bytes: Uint8Array): boolean {
  return ((bytes[0] ?? 0) & 0x0f) === 8
}

/**
 * Limit for the codings of one body, because each coding multiplies the size to which the body unpacks. More than one
 * coding is accepted in upstream answers only.
 */
const codingsMax = 3

const codings: ReadonlyMap<string, ContentCoding | 'identity'> = new Map([
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
  ['br', 'br'],
  ['zstd', 'zstd'],
  ['identity', 'identity'],
])

/**
 * Returns the codings of a Content-Encoding header in the order in which they were applied (RFC 9110 section
 * 8.4), without `identity`. Fails with `unsupported` for an unknown coding, and for more than `codingsMax`
 * codings.
 */
export function parseContentEncoding(
  header: string | undefined,
): Result<readonly ContentCoding[], 'unsupported'> {
  const names = (header ?? '').split(',').map((name) => name.trim().toLowerCase())
  const applied: ContentCoding[] = []
  for (const name of names) {
    if (name === '') continue
    const coding = codings.get(name)
    if (coding === undefined) return fail('unsupported')
    if (coding !== 'identity') applied.push(coding)
  }
  return applied.length > codingsMax ? fail('unsupported') : succeed(applied)
}

/**
 * Yields the chunks of `source`. Throws `BodyError` (`too_large`) in place of the chunk with which all chunks so far
 * exceed the limit.
 */
async function* limitBytes(
  source: AsyncIterable<Uint8Array>,
  limitBytes: number,
): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const chunk of source) {
    bytes += chunk.length
    if (bytes > limitBytes) throw new BodyError({ tag: 'too_large', limitBytes })
    yield chunk
  }
}

/**
 * Joins chunks until each one, except the last, has at least `bytesMin` bytes. Every later step has a cost
 * per chunk. Without joining, a client that sends single bytes would be expensive to read.
 */
export async function* coalesceChunks(
  source: AsyncIterable<Uint8Array>,
  bytesMin: number,
): AsyncGenerator<Uint8Array> {
  let held: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of source) {
    held.push(chunk)
    bytes += chunk.length
    if (bytes < bytesMin) continue
    yield held.length === 1 ? chunk : Buffer.concat(held)
    held = []
    bytes = 0
  }
  if (bytes > 0) yield Buffer.concat(held)
}
