import * as zlib from 'node:zlib'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import { createByteCollector } from './byteCollector.ts'

const codings = ['gzip', 'deflate', 'br', 'zstd'] as const
export type ContentCoding = (typeof codings)[number]

type UnpackFailure = 'too_large' | 'no_room' | 'corrupt_coding'

type UnpackOptions = {
  /**
   * For answers that we have paid for: ignores what follows the end of the coding, and unpacks a body that is damaged
   * or stops early as far as it goes.
   */
  readonly lenient?: boolean
  /**
   * Called with the number of bytes so far, before more are unpacked. Nobody knows how many there will be, so room is
   * taken for them as for bytes that arrive. False ends the work. Default: there is room.
   */
  readonly cover?: (bytes: number) => true | Promise<boolean>
}

/**
 * Unpacks a body that has one content coding. Fails with `too_large` when it has more than `bytesMax` bytes, with
 * `no_room` when `cover` says so, and with `corrupt_coding` when it does not end with the end of its coding. Zeros after
 * gzip are padding. Bodies that are unpacked at the same time take turns after each chunk, outside of the event loop.
 */
export async function unpack(
  body: Buffer,
  coding: ContentCoding,
  bytesMax: number,
  { lenient = false, cover = () => true }: UnpackOptions,
): Promise<Result<Buffer, UnpackFailure>> {
  let unpacked = await drain(decoders[coding](body), body, bytesMax, cover)
  if (lenient && coding === 'gzip' && !unpacked.isWhole && body[gzipFlagsAt] === 0) {
    // A decoder of gzip fails when it does not find more gzip after the end. One of bare deflate stops there.
    const decoder = zlib.createInflateRaw({ chunkSize })
    unpacked = await drain(decoder, body.subarray(gzipHeaderBytes), bytesMax, cover)
  }
  if (unpacked.stoppedBy !== undefined) return fail(unpacked.stoppedBy)
  const rest = body.subarray(unpacked.bytesRead)
  const isPadding = coding === 'gzip' && rest.equals(Buffer.alloc(rest.length))
  const isWhole = unpacked.isWhole && (rest.length === 0 || isPadding)
  if (!lenient && !isWhole) return fail('corrupt_coding')
  return succeed(unpacked.content)
}

/** A header of gzip has this length when its flags are 0 (RFC 1952, section 2.3). */
const gzipHeaderBytes = 10
const gzipFlagsAt = 3

/** Unpacks `body` as far as it goes. Stops beyond `bytesMax` bytes, and when there is no room. */
async function drain(
  decoder: Decoder | zlib.InflateRaw,
  body: Buffer,
  bytesMax: number,
  cover: NonNullable<UnpackOptions['cover']>,
) {
  const collected = createByteCollector(bytesMax)
  let stoppedBy: 'too_large' | 'no_room' | undefined
  let isWhole = true
  const unpacked: AsyncIterable<Buffer> = decoder
  decoder.end(body)
  try {
    for await (const chunk of unpacked) {
      if (!collected.add(chunk)) stoppedBy = 'too_large'
      else if (!(await cover(collected.length()))) stoppedBy = 'no_room'
      if (stoppedBy !== undefined) break
    }
  } catch {
    isWhole = false
  }
  return { content: collected.bytes(), stoppedBy, isWhole, bytesRead: decoder.bytesWritten }
}

type Decoder = ReturnType<(typeof decoders)[ContentCoding]>

/** Larger than the default of zlib (16 KiB), because each chunk costs a step of the event loop. */
const chunkSize = 64 * 1024
/**
 * Limit for the memory of a zstd decoder: 2 to this power is 8 MiB, the largest window in HTTP (RFC 9659). The default
 * of zlib would allow 128 MiB.
 */
const zstdParams = { [zlib.constants.ZSTD_d_windowLogMax]: 23 }

const decoders = {
  gzip: () => zlib.createGunzip({ chunkSize }),
  // Some clients send deflate data without the header of zlib, which RFC 9110 section 8.4.1.2 wants.
  deflate: (body: Buffer) =>
    ((body[0] ?? 0) & 0x0f) === 8
      ? zlib.createInflate({ chunkSize })
      : zlib.createInflateRaw({ chunkSize }),
  br: () => zlib.createBrotliDecompress({ chunkSize }),
  zstd: () => zlib.createZstdDecompress({ chunkSize, params: zstdParams }),
}

/**
 * Returns the coding that a Content-Encoding header names (RFC 9110 section 8.4), if it names one. Fails with
 * `unsupported` for an unknown coding, and for several: each would multiply the size to which the body unpacks.
 */
export function contentCoding(
  header: string | undefined,
): Result<ContentCoding | undefined, 'unsupported'> {
  const names = (header ?? '').split(',').map((name) => name.trim().toLowerCase())
  const [name, ...others] = names.filter((each) => each !== '' && each !== 'identity')
  if (name === undefined) return succeed(undefined)
  const coding = codings.find((known) => known === (name === 'x-gzip' ? 'gzip' : name))
  return coding === undefined || others.length > 0 ? fail('unsupported') : succeed(coding)
}
