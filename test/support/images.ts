import { randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import sharp from 'sharp'
import type { ReceivedImage } from '../../src/domain/tasks/imageRequest.ts'

/** A PNG of one red pixel. */
export const redPixelPng = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==',
  'base64',
)

/** Describes `redPixelPng` as the request readers do. */
export function receivedImage(path: readonly (string | number)[]): ReceivedImage {
  return { path, content: redPixelPng, mimeType: 'image/png' }
}

/** A valid PNG of exactly `bytes` bytes: the red pixel and a private chunk. Another `salt` gives other bytes. */
export function paddedPng(bytes: number, salt: number, chunk = 'prVt'): Buffer {
  const chunkFrameBytes = 12
  const content = Buffer.alloc(bytes - redPixelPng.length - chunkFrameBytes, salt)
  const typed = Buffer.concat([Buffer.from(chunk, 'latin1'), content])
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(content.length)
  checksum.writeUInt32BE(crc32(typed))
  return Buffer.concat([
    redPixelPng.subarray(0, -chunkFrameBytes),
    length,
    typed,
    checksum,
    redPixelPng.subarray(-chunkFrameBytes),
  ])
}

/** A PNG of random pixels. Random pixels do not compress: about 3 bytes per pixel. */
export async function noisePng(width: number, height: number): Promise<Buffer> {
  const raw = { width, height, channels: 3 } as const
  return await sharp(randomBytes(width * height * 3), { raw })
    .png()
    .toBuffer()
}
