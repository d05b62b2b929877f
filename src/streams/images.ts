import { crc32 } from 'node:zlib'
import type { ImageMimeType } from '../domain/models/models.ts'

/**
 * Returns the type of a whole PNG, JPEG or WebP, read from its bytes and not from a declared type. Returns `undefined`
 * for any other bytes, and for an image that was cut off before its end mark, so that it fails here and not at the
 * upstream. Pixels are not decoded. Bytes after the end mark are allowed, because some cameras add them.
 */
export function wholeImageType(bytes: Uint8Array): ImageMimeType | undefined {
  const image = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const start = image.toString('latin1', 0, 26)
  if (start.startsWith('\xff\xd8')) return isWholeJpeg(image) ? 'image/jpeg' : undefined
  if (start.startsWith('\x89PNG\r\n\x1a\n')) return isWholePng(image) ? 'image/png' : undefined
  const isWebp = webpStart.test(start) || (lossyStart.test(start) && start.endsWith(lossyCode))
  return isWebp && isWholeWebp(image) ? 'image/webp' : undefined
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
 * Checks a PNG: the header, then every chunk up to IEND, with at least one IDAT. Refuses a wrong checksum of a chunk that the
 * picture depends on, because decoders refuse it too. They ignore it in a chunk that is not needed, whose type begins
 * with a lower-case letter (PNG specification, sections 5.4 and 13.2).
 */
function isWholePng(image: Buffer): boolean {
  if (!hasPngHeader(image)) return false
  let dataSeen = false
  let at = pngSignatureBytes
  for (let parts = 0; parts < imagePartsMax; parts += 1) {
    if (at + 12 > image.length) return false
    const end = at + 12 + image.readUInt32BE(at)
    if (end > image.length) return false
    const type = image.readUInt32BE(at + 4)
    const isNeeded = (type & 0x20000000) === 0
    const sum = image.readUInt32BE(end - 4)
    if (isNeeded && crc32(image.subarray(at + 4, end - 4)) !== sum) return false
    if (type === imageData) dataSeen = true
    if (type === imageEnd) return dataSeen
    at = end
  }
  return false
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
 * Checks a JPEG: the segments up to the first scan, with a frame header among them, and an end mark behind. The data of
 * a scan cannot contain the mark. A thumbnail does, but it is in a segment before the scan.
 */
function isWholeJpeg(image: Buffer): boolean {
  let frameSeen = false
  let at = 2
  for (let parts = 0; parts < imagePartsMax; parts += 1) {
    if (image[at] !== 0xff) at = image.indexOf(0xff, at)
    if (at === -1 || at + 4 > image.length) return false
    const marker = image.readUInt8(at + 1)
    if (isAlone(marker)) {
      at += marker === 0xff ? 1 : 2
      continue
    }
    const length = image.readUInt16BE(at + 2)
    if (marker === 0xd8 || marker === endOfImage || length < 2) return false
    if (isFrame(marker)) frameSeen = true
    at += 2 + length
    if (marker === startOfScan) return frameSeen && hasEndMark(image, at)
  }
  return false
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

/** The length in the container gives the end of a WebP. The smallest one has the header of a chunk, and ten bytes. */
function isWholeWebp(image: Buffer): boolean {
  const length = image.readUInt32LE(4)
  return length >= 22 && image.length >= 8 + length
}
