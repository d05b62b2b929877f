import * as zlib from 'node:zlib'
import { promisify } from 'node:util'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import type { ContentCoding } from './decodeContent.ts'

export type { ContentCoding } from './decodeContent.ts'
export { parseContentEncoding } from './decodeContent.ts'

/** A stand-in until the branch of the streams is merged. */
export async function unpack(
  body: Buffer,
  coding: ContentCoding,
  bytesMax: number,
): Promise<Result<Buffer, { tag: 'too_large' } | { tag: 'corrupt_coding' }>> {
  const options = { maxOutputLength: bytesMax }
  const run = {
    gzip: () => promisify(zlib.gunzip)(body, options),
    deflate: () => promisify(zlib.inflate)(body, options),
    br: () => promisify(zlib.brotliDecompress)(body, options),
    zstd: () => promisify(zlib.zstdDecompress)(body, options),
  }[coding]
  try {
    return succeed(Buffer.from(await run()))
  } catch (error) {
    const isTooLarge = error instanceof RangeError
    return fail({ tag: isTooLarge ? 'too_large' : 'corrupt_coding' })
  }
}
