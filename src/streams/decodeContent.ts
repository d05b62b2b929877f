import type { Duplex } from 'node:stream'
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
 * Undoes content codings in reverse order of their application, while the body streams. Both the bytes
 * as sent and the bytes decoded are counted against `bytesMax`: zlib's `maxOutputLength` does not hold
 * for streams (research/reliability.md section 4, Decompression). Throws `BodyError`; an error of
 * `source` must be one too, anything else is taken for a broken coding.
 */
export async function* decodeContent(
  source: AsyncIterable<Uint8Array>,
  codings: readonly ContentCoding[],
  bytesMax: number,
): AsyncGenerator<Uint8Array> {
  let content: AsyncIterable<Uint8Array> = limitBytes(source, bytesMax)
  for (const coding of codings.toReversed()) {
    // Each step is limited: in a stack, the middle may already be the bomb.
    content = limitBytes(decodeOne(content, coding), bytesMax)
  }
  yield* content
}

async function* decodeOne(
  source: AsyncIterable<Uint8Array>,
  coding: ContentCoding,
): AsyncGenerator<Uint8Array> {
  const chunks = source[Symbol.asyncIterator]()
  const first = await chunks.next()
  if (first.done === true) throw new BodyError({ tag: 'corrupt_coding' })
  const decoder = createDecoder(coding, first.value)
  // Whatever fails destroys the decoder, so the reading below sees the same error.
  void pipeline(Readable.from(startingWith(first.value, chunks)), decoder).catch(() => {})
  try {
    for await (const chunk of decoder) yield chunk
  } catch (error) {
    throw error instanceof BodyError ? error : new BodyError({ tag: 'corrupt_coding' })
  } finally {
    decoder.destroy()
  }
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

function createDecoder(coding: ContentCoding, firstBytes: Uint8Array): Duplex {
  switch (coding) {
    case 'gzip':
      return zlib.createGunzip({ chunkSize })
    case 'deflate':
      return startsAsZlib(firstBytes)
        ? zlib.createInflate({ chunkSize })
        : zlib.createInflateRaw({ chunkSize })
    case 'br':
      return zlib.createBrotliDecompress({ chunkSize })
    case 'zstd':
      return zlib.createZstdDecompress({
        chunkSize,
        params: { [zlib.constants.ZSTD_d_windowLogMax]: zstdWindowLogMax },
      })
    default:
      return assertNever(coding)
  }
}

/** `deflate` means the zlib format (RFC 9110 section 8.4.1.2); some clients send the bare stream. */
function startsAsZlib(bytes: Uint8Array): boolean {
  return ((bytes[0] ?? 0) & 0x0f) === 8
}
