import { createHash } from 'node:crypto'
import type { ReceivedImage } from '../../src/domain/receivedImage.ts'

/** One red pixel; small enough to stand in a test as it is. */
export const redPixelPng = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==',
  'base64',
)

export function receivedImage(path: readonly (string | number)[]): ReceivedImage {
  const sha256 = createHash('sha256').update(redPixelPng).digest('hex')
  return {
    path,
    blobKey: 'in1/0',
    bytes: redPixelPng.length,
    sha256,
    sniffedType: 'image/png',
  }
}
