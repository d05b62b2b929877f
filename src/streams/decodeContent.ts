import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import * as zlib from 'node:zlib'
import { assertNever } from '../domain/assertNever.ts'
import { BodyError } from './bodyError.ts'
import type { ContentCoding } from './contentCoding.ts'
import { limitBytes } from './limitBytes.ts'

/** RFC 9659: a zstd window in HTTP is at most 8 MiB; zlib's own default would allow 128 MiB a body. */
const zstdWindowLogMax = 23

/**
 * Chunks lie outside V8's heap, which collects them late when little else is made: with zlib's 16 KiB a
 * body that is only counted held 30 MiB more of them.
 */
const chunkSize = 4 * 1024

/**
 * What a coding is that stops before its end: broken, or read as far as it goes, for a reader that sees
 * for itself whether all is there.
 */
export type CutOff = 'fails' | 'ends'

/**
 * Undoes content codings in reverse order of their application, while the body streams. Both the bytes
 * as sent and the bytes decoded are counted against `bytesMax`: zlib's `maxOutputLength` does not hold
 * for streams (research/reliability.md section 4, Decompression). Throws `BodyError`; an error of
 * `source` is thrown on, and with `ends` not before all that could be decoded was read.
 */
export async function* decodeContent(
  source: AsyncIterable<Uint8Array>,
  codings: readonly ContentCoding[],
  bytesMax: number,
  cutOff: CutOff = 'fails',
): AsyncGenerator<Uint8Array> {
  let content: AsyncIterable<Uint8Array> = limitBytes(source, bytesMax)
  for (const coding of codings.toReversed()) {
    // Each step is limited: in a stack, the middle may already be the bomb.
    content = limitBytes(decodeOne(content, coding, cutOff), bytesMax)
  }
  yield* content
}

async function* decodeOne(
  source: AsyncIterable<Uint8Array>,
  coding: ContentCoding,
  cutOff: CutOff,
): AsyncGenerator<Uint8Array> {
  const chunks = source[Symbol.asyncIterator]()
  const first = await chunks.next()
  if (first.done === true) throw new BodyError({ tag: 'corrupt_coding' })
  const decoder = createDecoder(coding, first.value, cutOff)
  const sent = untilFailure(startingWith(first.value, chunks))
  // Whatever fails destroys the decoder, so the reading below sees the same error.
  const written = pipeline(Readable.from(sent.chunks), decoder).catch(() => {})
  try {
    for await (const chunk of decoder) yield chunk
  } catch {
    throw sent.failure() ?? new BodyError({ tag: 'corrupt_coding' })
  } finally {
    decoder.destroy()
  }
  // A decoder that has seen its end passes over what follows. Only that of gzip minds it: another member.
  const restMatters = cutOff === 'fails' && coding !== 'gzip'
  if (restMatters) await written
  const failure = sent.failure()
  if (failure !== undefined) throw failure
  if (restMatters && decoder.bytesWritten < sent.bytes()) {
    throw new BodyError({ tag: 'corrupt_coding' })
  }
}

type Sent = {
  readonly chunks: AsyncIterable<Uint8Array>
  readonly bytes: () => number
  /** Why they ended, when that was no end. */
  readonly failure: () => Error | undefined
}

/** An error in a pipeline destroys the decoder, and with it all that it has decoded already. */
function untilFailure(source: AsyncIterable<Uint8Array>): Sent {
  let failure: Error | undefined
  let bytes = 0
  const chunks = async function* (): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of source) {
        bytes += chunk.length
        yield chunk
      }
    } catch (error) {
      failure = error instanceof Error ? error : new Error('The body broke off', { cause: error })
    }
  }
  return { chunks: chunks(), bytes: () => bytes, failure: () => failure }
}

async function* startingWith(
  first: Uint8Array,
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    yield first
    for (let step = await rest.next(); step.done !== true; step = await rest.next()) {
      yield step.value
    }
  } finally {
    await rest.return?.()
  }
}

function createDecoder(coding: ContentCoding, firstBytes: Uint8Array, cutOff: CutOff): Decoder {
  // To finish is to insist on the end of the coding, to flush is not.
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

/** `deflate` means the zlib format (RFC 9110 section 8.4.1.2); some clients send the bare stream. */
function startsAsZlib(bytes: Uint8Array): boolean {
  return ((bytes[0] ?? 0) & 0x0f) === 8
}
