import type { ImageWalk } from './imageWalk.ts'
import { imagePartsMax, nextMarker, skip, take } from './imageWalk.ts'

const startOfImage = 0xd8
const endOfImage = 0xd9
const startOfScan = 0xda
const temporary = 0x01

/** A JPEG after its SOI: segment by segment over frame header and scans to EOI. */
export function* walkJpeg(): ImageWalk {
  let size: { width: number; height: number } | undefined
  let scanSeen = false
  for (let parts = 0; parts < imagePartsMax; parts++) {
    const marker = yield* nextMarker()
    if (marker === temporary) continue
    if (marker === startOfImage) return undefined
    if (marker === endOfImage) {
      return size !== undefined && scanSeen ? { mimeType: 'image/jpeg', ...size } : undefined
    }
    const length = (yield* take(2)).readUInt16BE(0)
    if (length < 2) return undefined
    if (isFrame(marker)) {
      if (length < 8) return undefined
      size = readFrame(yield* take(5))
      if (size === undefined) return undefined
      yield* skip(length - 7)
    } else {
      yield* skip(length - 2)
    }
    if (marker === startOfScan) scanSeen = true
  }
  return undefined
}

/** SOF0 to SOF15 without DHT, JPG and DAC, which lie between them. */
function isFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
}

/** Precision, height, width. A height of zero (given later by DNL) is written by no encoder in use. */
function readFrame(frame: Buffer): { width: number; height: number } | undefined {
  const height = frame.readUInt16BE(1)
  const width = frame.readUInt16BE(3)
  return width > 0 && height > 0 ? { width, height } : undefined
}
