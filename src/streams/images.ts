import { crc32 } from 'node:zlib'
import type { ImageMimeType } from '../domain/models/models.ts'

type PixelSize = { readonly width: number; readonly height: number }

export type WholeImage = PixelSize & { readonly mimeType: ImageMimeType }

/**
 * Returns type and pixel size of a whole PNG, JPEG or WebP, read from its bytes and not from a declared type. Returns
 * `undefined` for any other bytes, and for an image that was cut off before its end mark, so that it fails here and not
 * at the upstream. Pixels are not decoded. Bytes after the end mark are allowed, because some cameras add them.
 */
export function wholeImage(bytes: Uint8Array): WholeImage | undefined {
  const image = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const start = image.toString('latin1', 0, 12)
  if (start.startsWith('\xff\xd8')) return wholeJpeg(image)
  if (start.startsWith('\x89PNG\r\n\x1a\n')) return wholePng(image)
  return start.startsWith('RIFF') && start.endsWith('WEBP') ? wholeWebp(image) : undefined
}

/**
 * Limit for the chunks or segments of one image. Far more than encoders write (some thousands), and few
 * enough that an image of tiny chunks cannot keep the process busy.
 */
const imagePartsMax = 100_000

/**
 * Checks a PNG: the header, then every chunk up to IEND, with at least one IDAT. Refuses a wrong checksum of a chunk
 * that the picture depends on, because decoders refuse it too. They ignore it in a chunk that is not needed, whose type
 * begins with a lower-case letter (PNG specification, sections 5.4 and 13.2).
 */
function wholePng(image: Buffer): WholeImage | undefined {
  const size = sizeOfPng(image)
  if (size === undefined) return undefined
  let dataSeen = false
  let at = pngSignatureBytes
  for (let parts = 0; parts < imagePartsMax; parts += 1) {
    if (at + 12 > image.length) return undefined
    const end = at + 12 + image.readUInt32BE(at)
    if (end > image.length) return undefined
    const type = image.readUInt32BE(at + 4)
    const isNeeded = (type & 0x20000000) === 0
    const sum = image.readUInt32BE(end - 4)
    if (isNeeded && crc32(image.subarray(at + 4, end - 4)) !== sum) return undefined
    if (type === imageData) dataSeen = true
    if (type === imageEnd) return dataSeen ? { mimeType: 'image/png', ...size } : undefined
    at = end
  }
  return undefined
}

const pngSignatureBytes = 8
/** The types of the chunks, `IDAT` and `IEND`. */
const imageData = 0x49444154
const imageEnd = 0x49454e44

/** The allowed bit depths for each colour type (PNG specification, table 11.1). */
const bitDepths: ReadonlyMap<number, readonly number[]> = new Map([
  [0, [1, 2, 4, 8, 16]],
  [2, [8, 16]],
  [3, [1, 2, 4, 8]],
  [4, [8, 16]],
  [6, [8, 16]],
])

/** Reads the size from IHDR, the first chunk: length, type, 13 bytes of data, CRC. */
function sizeOfPng(image: Buffer): PixelSize | undefined {
  if (image.length < 33 || image.toString('latin1', 8, 16) !== '\0\0\0\rIHDR') return undefined
  const [width, height] = [image.readUInt32BE(16), image.readUInt32BE(20)]
  const isSize = [width, height].every((side) => side > 0 && side <= 0x7fffffff)
  const isKnown = bitDepths.get(image.readUInt8(25))?.includes(image.readUInt8(24)) === true
  // Compression and filter have one method each, and interlacing has two.
  const hasMethods = image.readUInt16BE(26) === 0 && image.readUInt8(28) <= 1
  return isSize && isKnown && hasMethods ? { width, height } : undefined
}

/**
 * Checks a JPEG: the segments up to the first scan, with a frame header among them, and an end mark behind. The data of
 * a scan cannot contain the mark. A thumbnail does, but it is in a segment before the scan.
 */
function wholeJpeg(image: Buffer): WholeImage | undefined {
  let size: PixelSize | undefined
  let at = 2
  for (let parts = 0; parts < imagePartsMax; parts += 1) {
    if (image[at] !== 0xff) at = image.indexOf(0xff, at)
    if (at === -1 || at + 4 > image.length) return undefined
    const marker = image.readUInt8(at + 1)
    if (isAlone(marker)) {
      at += marker === 0xff ? 1 : 2
      continue
    }
    const length = image.readUInt16BE(at + 2)
    if (marker === 0xd8 || marker === endOfImage || length < 2) return undefined
    if (isFrame(marker)) {
      size = sizeOfFrame(image.subarray(at + 4, at + 2 + length))
      if (size === undefined) return undefined
    }
    at += 2 + length
    if (marker !== startOfScan) continue
    return size !== undefined && hasEndMark(image, at)
      ? { mimeType: 'image/jpeg', ...size }
      : undefined
  }
  return undefined
}

const startOfScan = 0xda
const endOfImage = 0xd9

/**
 * Returns whether there is an end mark (FF D9) from `begin` on. It is at the end of most files. A search by `Buffer` for
 * two bytes takes several times as long in the worst case.
 */
function hasEndMark(image: Buffer, begin: number): boolean {
  for (let at = image.length - 1; at > begin; at -= 1) {
    if (image[at] === endOfImage && image[at - 1] === 0xff) return true
  }
  return false
}

/**
 * Returns whether the byte after an FF begins no segment: FF before FF is padding, FF 00 is a byte of data, and TEM
 * (01) and the restart marks (D0 to D7) have no length.
 */
function isAlone(marker: number): boolean {
  return marker === 0xff || marker <= 0x01 || (marker >= 0xd0 && marker <= 0xd7)
}

/** Returns whether a marker is a frame header: SOF0 to SOF15 (C0 to CF), without DHT (C4), JPG (C8) and DAC (CC). */
function isFrame(marker: number): boolean {
  return (marker >= 0xc0 && marker <= 0xcf && marker % 4 !== 0) || marker === 0xc0
}

/**
 * Reads the size from precision, height and width. A height of zero means that a later DNL segment gives the
 * height. No encoder in use writes such a file, so it counts as broken.
 */
function sizeOfFrame(frame: Buffer): PixelSize | undefined {
  return frame.length < 6 ? undefined : sized(frame.readUInt16BE(3), frame.readUInt16BE(1))
}

function sized(width: number, height: number): PixelSize | undefined {
  return width > 0 && height > 0 ? { width, height } : undefined
}

/** Checks a WebP: the first chunk gives the pixel size, and the length in the container gives the end. */
function wholeWebp(image: Buffer): WholeImage | undefined {
  // The minimum is the header of the container (12 bytes), that of the first chunk (8), and the start of its data (10).
  if (image.length < 30 || image.length < 8 + image.readUInt32LE(4)) return undefined
  if (image.readUInt32LE(4) < 22) return undefined
  const size = sizeOfWebp(image.toString('latin1', 12, 16), image.subarray(20, 30))
  return size === undefined ? undefined : { mimeType: 'image/webp', ...size }
}

function sizeOfWebp(chunk: string, data: Buffer): PixelSize | undefined {
  if (chunk === 'VP8X') {
    return { width: data.readUIntLE(4, 3) + 1, height: data.readUIntLE(7, 3) + 1 }
  }
  // Lossy data: a frame tag, the start code 9d 01 2a, and then 14 bits for each side.
  if (chunk === 'VP8 ' && data.readUIntBE(3, 3) === 0x9d012a) {
    return sized(data.readUInt16LE(6) & 0x3fff, data.readUInt16LE(8) & 0x3fff)
  }
  // Lossless data: the signature 2f, and then 14 bits for each side, which give the side minus one.
  if (chunk === 'VP8L' && data[0] === 0x2f) {
    const bits = data.readUInt32LE(1)
    return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
  }
  return undefined
}
