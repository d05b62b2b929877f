import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import * as zlib from 'node:zlib'
import { assertNever } from '../domain/assertNever.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import { BodyError, limitBytes } from './bodyBytes.ts'

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
type CutOff = 'fails' | 'ends'

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
  try {
    const first = await chunks.next()
    if (first.done === true) throw new BodyError({ tag: 'corrupt_coding' })
    const decoder = createDecoder(coding, first.value, cutOff)
    const sent = sendTo(first.value, chunks, coding)
    // Whatever fails destroys the decoder, so the reading below sees the same error.
    const written = pipeline(Readable.from(sent.chunks), decoder).catch(() => {})
    try {
      for await (const chunk of decoder) yield chunk
    } catch {
      throw sent.failure() ?? new BodyError({ tag: 'corrupt_coding' })
    } finally {
      decoder.destroy()
    }
    // A decoder that has seen its end passes over what follows: it was never read, or never looked at.
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
    // Not awaited: it waits for a chunk that may never come.
    chunks.return?.().catch(() => {})
  }
}

type Sent = {
  readonly chunks: AsyncIterable<Uint8Array>
  /** Reads on where the decoder has stopped reading. */
  readonly rest: () => Promise<void>
  /** Behind the last byte that means anything. */
  readonly endsAt: () => number
  /** Why they ended, when that was no end. */
  readonly failure: () => Error | undefined
}

/**
 * The chunks for a decoder, one by one: an error in a pipeline destroys the decoder and with it all that
 * it has decoded already, and a decoder that has ended throws its error in here.
 */
function sendTo(first: Uint8Array, others: AsyncIterator<Uint8Array>, coding: ContentCoding): Sent {
  let failure: Error | undefined
  let bytes = 0
  let endsAt = 0
  const see = (chunk: Uint8Array): Uint8Array => {
    // Zeros may pad gzip (RFC 1952).
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

export type ContentCoding = 'gzip' | 'deflate' | 'br' | 'zstd'

/** More than one coding is lawful and rare; a stack of many multiplies what one small body unpacks to. */
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
 * The codings of a Content-Encoding header in the order they were applied (RFC 9110 section 8.4);
 * `identity` is left out. An unknown coding or too many of them is `unsupported`.
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
