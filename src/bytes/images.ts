import { crc32 } from 'node:zlib'
import type { ImageMimeType } from '../domain/models/models.ts'

/** What the bytes of an image say. Width and height are in pixels, before any rotation. 0: the bytes do not say it. */
export type WholeImage = Pixels & { readonly mimeType: ImageMimeType }
type Pixels = { readonly width: number; readonly height: number }

/**
 * Returns the type and the size of a whole PNG, JPEG or WebP, read from its bytes and not from what was declared. Returns
 * `undefined` for any other bytes, and for an image that was cut off before its end mark, so that it fails here and not
 * at the upstream. Pixels are not decoded. Bytes after the end mark are allowed, because some cameras add them.
 */
export function wholeImage(bytes: Uint8Array): WholeImage | undefined {
  const image = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const start = image.toString('latin1', 0, 26)
  if (start.startsWith('\xff\xd8')) return typed('image/jpeg', wholeJpeg(image))
  if (start.startsWith('\x89PNG\r\n\x1a\n')) return typed('image/png', wholePng(image))
  const isWebp = webpStart.test(start) || (lossyStart.test(start) && start.endsWith(lossyCode))
  return isWebp ? typed('image/webp', wholeWebp(image)) : undefined
}

function typed(mimeType: ImageMimeType, pixels: Pixels | undefined): WholeImage | undefined {
  return pixels && { mimeType, ...pixels }
}

/** The container of a WebP and its first chunk: extended, or lossless with its signature. */
const webpStart = /^RIFF.{4}WEBP(VP8X|VP8L.{4}\x2f)/s
/** The same with a lossy chunk, whose frame tag is followed by a start code. */
const lossyStart = /^RIFF.{4}WEBPVP8 .{10}$/s
const lossyCode = '\x9d\x01\x2a'

/**
 * Limit for the chunks or segments of one image. Far more than encoders write (some thousands), and few
 * enough that an image of tiny chunks cannot keep the process busy.
 */
const imagePartsMax = 100_000

/**
 * Reads a PNG: the header, then every chunk up to IEND, with at least one IDAT. Refuses a wrong checksum of a chunk that the
 * picture depends on, because decoders refuse it too. They ignore it in a chunk that is not needed, whose type begins
 * with a lower-case letter (PNG specification, sections 5.4 and 13.2).
 */
function wholePng(image: Buffer): Pixels | undefined {
  if (!hasPngHeader(image)) return undefined
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
    if (type === imageEnd) {
      return dataSeen
        ? { width: image.readUInt32BE(16), height: image.readUInt32BE(20) }
        : undefined
    }
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

/** Checks IHDR, the first chunk: length, type, width, height, depth, colour type, and three bytes of methods. */
function hasPngHeader(image: Buffer): boolean {
  if (image.length < 33 || image.toString('latin1', 8, 16) !== '\0\0\0\rIHDR') return false
  const isSize = [16, 20].every((at) => image.readInt32BE(at) > 0)
  const isKnown = bitDepths.get(image.readUInt8(25))?.includes(image.readUInt8(24)) === true
  // Compression and filter have one method each, and interlacing has two.
  const hasMethods = image.readUInt16BE(26) === 0 && image.readUInt8(28) <= 1
  return isSize && isKnown && hasMethods
}

/**
 * Reads a JPEG: the segments up to the first scan, with a frame header among them, and an end mark behind. The data of
 * a scan cannot contain the mark. A thumbnail does, but it is in a segment before the scan.
 */
function wholeJpeg(image: Buffer): Pixels | undefined {
  let frame: Pixels | undefined
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
      if (at + 9 > image.length) return undefined
      frame = { height: image.readUInt16BE(at + 5), width: image.readUInt16BE(at + 7) }
    }
    at += 2 + length
    if (marker === startOfScan) return hasEndMark(image, at) ? frame : undefined
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
 * Reads a WebP (RFC 9649). The length in the container gives its end. The smallest one has the header of a chunk, and ten
 * bytes. An extended one has the size of its canvas in 24 bits each, less one; a lossless one in 14 bits each, less one;
 * a lossy one in 14 bits each, after its start code.
 */
function wholeWebp(image: Buffer): Pixels | undefined {
  const length = image.readUInt32LE(4)
  if (length < 22 || image.length < 8 + length) return undefined
  switch (image.readUInt8(15)) {
    case 0x58: // VP8X
      return { width: image.readUIntLE(24, 3) + 1, height: image.readUIntLE(27, 3) + 1 }
    case 0x4c: {
      // VP8L
      const bits = image.readUInt32LE(21)
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
    }
    default:
      return { width: image.readUInt16LE(26) & 0x3fff, height: image.readUInt16LE(28) & 0x3fff }
  }
}
