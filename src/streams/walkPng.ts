import { crc32 } from 'node:zlib'
import type { ImageWalk } from './imageWalk.ts'
import { imagePartsMax, skip, take } from './imageWalk.ts'

const signatureRest = Buffer.from([0x0d, 0x0a, 0x1a, 0x0a])

/** Colour type → allowed bit depths (PNG, table 11.1). */
const bitDepths: ReadonlyMap<number, readonly number[]> = new Map([
  [0, [1, 2, 4, 8, 16]],
  [2, [8, 16]],
  [3, [1, 2, 4, 8]],
  [4, [8, 16]],
  [6, [8, 16]],
])

/** A PNG from its fifth byte on: header, chunk by chunk to the end, with image data on the way. */
export function* walkPng(): ImageWalk {
  if (!(yield* take(4)).equals(signatureRest)) return undefined
  const header = yield* take(25)
  const size = readHeader(header)
  if (size === undefined) return undefined
  let dataSeen = false
  for (let parts = 0; parts < imagePartsMax; parts++) {
    const chunk = yield* take(8)
    const length = chunk.readUInt32BE(0)
    const type = chunk.toString('latin1', 4)
    if (length > 0x7fffffff) return undefined
    yield* skip(length + 4)
    if (type === 'IDAT') dataSeen = true
    if (type === 'IEND') return dataSeen ? { mimeType: 'image/png', ...size } : undefined
  }
  return undefined
}

/** IHDR whole: length, type, 13 bytes of data, CRC. */
function readHeader(chunk: Buffer): { width: number; height: number } | undefined {
  if (chunk.readUInt32BE(0) !== 13 || chunk.toString('latin1', 4, 8) !== 'IHDR') return undefined
  if (crc32(chunk.subarray(4, 21)) !== chunk.readUInt32BE(21)) return undefined
  const width = chunk.readUInt32BE(8)
  const height = chunk.readUInt32BE(12)
  const depths = bitDepths.get(chunk.readUInt8(17))
  const legal =
    isSide(width) &&
    isSide(height) &&
    depths?.includes(chunk.readUInt8(16)) === true &&
    chunk.readUInt16BE(18) === 0 &&
    chunk.readUInt8(20) <= 1
  return legal ? { width, height } : undefined
}

function isSide(pixels: number): boolean {
  return pixels > 0 && pixels <= 0x7fffffff
}
