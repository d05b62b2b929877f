import { crc32 } from 'node:zlib'
import type { ImageMimeType } from '../../domain/models/models.ts'

type PixelSize = { readonly width: number; readonly height: number }

export type WholeImage = PixelSize & { readonly mimeType: ImageMimeType }

/**
 * What the check of an image (`ImageWalk`) needs next, while the image streams by.
 * - `take`: the next few bytes.
 * - `skip`: nothing. Passes over the next bytes.
 * - `sum`: the CRC-32 of the next bytes, computed on from the value `from`.
 * - `marker`: the second byte of the next JPEG marker.
 */
export type WalkRequest =
  | { readonly kind: 'take'; readonly bytes: number }
  | { readonly kind: 'skip'; readonly bytes: number }
  | { readonly kind: 'sum'; readonly bytes: number; readonly from: number }
  | { readonly kind: 'marker' }

/**
 * A walk over the structure of one image, from its signature to its end mark. It yields requests and
 * receives the bytes: an empty buffer after `skip`, four bytes after `sum`. Returns `undefined` when the
 * structure is broken. When the bytes end too early, the walk never returns: it stays at its last request.
 */
export type ImageWalk = Generator<WalkRequest, WholeImage | undefined, Buffer>

/**
 * Limit for the chunks or segments of one image. Far more than encoders write (some thousands), and few
 * enough that an image of tiny chunks cannot keep the process busy.
 */
const imagePartsMax = 100_000

export function* take(bytes: number): Generator<WalkRequest, Buffer, Buffer> {
  return yield { kind: 'take', bytes }
}

function* skip(bytes: number): Generator<WalkRequest, void, Buffer> {
  yield { kind: 'skip', bytes }
}

function* nextMarker(): Generator<WalkRequest, number, Buffer> {
  const found = yield { kind: 'marker' }
  return found.readUInt8(0)
}

/** The second half of the PNG signature. `walkImage` reads the first half. */
const signatureRest = Buffer.from([0x0d, 0x0a, 0x1a, 0x0a])

/** The allowed bit depths for each colour type (PNG specification, table 11.1). */
const bitDepths: ReadonlyMap<number, readonly number[]> = new Map([
  [0, [1, 2, 4, 8, 16]],
  [2, [8, 16]],
  [3, [1, 2, 4, 8]],
  [4, [8, 16]],
  [6, [8, 16]],
])

/**
 * Walks a PNG from its fifth byte on: the header, then every chunk up to IEND, with at least one IDAT.
 * Refuses a wrong checksum of a chunk that the picture depends on, because decoders refuse it too.
 */
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
    if (isAncillary(type)) {
      yield* skip(length + 4)
      continue
    }
    const sum = yield { kind: 'sum', bytes: length, from: crc32(chunk.subarray(4)) }
    if (!sum.equals(yield* take(4))) return undefined
    if (type === 'IDAT') dataSeen = true
    if (type === 'IEND') return dataSeen ? { mimeType: 'image/png', ...size } : undefined
  }
  return undefined
}

/**
 * Returns whether a chunk is not needed to show the picture: its type begins with a lower-case letter.
 * Decoders ignore a wrong checksum there (PNG specification, sections 5.4 and 13.2).
 */
function isAncillary(type: string): boolean {
  return (type.charCodeAt(0) & 0x20) !== 0
}

/** Reads the size from the whole IHDR chunk: length, type, 13 bytes of data, CRC. */
function readHeader(chunk: Buffer): PixelSize | undefined {
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

const startOfImage = 0xd8
const endOfImage = 0xd9
const startOfScan = 0xda
const temporary = 0x01

/**
 * Walks over a JPEG after its SOI marker. Expects all segments up to EOI, with a frame header and at least
 * one scan.
 */
export function* walkJpeg(): ImageWalk {
  let size: PixelSize | undefined
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

/**
 * Returns whether a marker is one of the frame headers SOF0 to SOF15 (C0 to CF). DHT (C4), JPG (C8) and DAC
 * (CC) lie between them and are no frame headers.
 */
function isFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
}

/**
 * Reads the size from precision, height and width. A height of zero means that a later DNL segment gives the
 * height. No encoder in use writes such a file, so it counts as broken.
 */
function readFrame(frame: Buffer): PixelSize | undefined {
  const height = frame.readUInt16BE(1)
  const width = frame.readUInt16BE(3)
  return width > 0 && height > 0 ? { width, height } : undefined
}

/**
 * Walks over a WebP after `RIFF`. The first chunk gives the pixel size. The length in the container gives the
 * end.
 */
export function* walkWebp(): ImageWalk {
  const container = yield* take(8)
  const riffBytes = container.readUInt32LE(0)
  if (container.toString('latin1', 4) !== 'WEBP') return undefined
  // The minimum is `WEBP` (4 bytes), the header of the first chunk (8) and the start of its data (10).
  if (riffBytes < 22) return undefined
  const first = yield* take(18)
  const size = readSize(first.toString('latin1', 0, 4), first.subarray(8))
  if (size === undefined) return undefined
  yield* skip(riffBytes - 22)
  return { mimeType: 'image/webp', ...size }
}

function readSize(chunk: string, data: Buffer): PixelSize | undefined {
  switch (chunk) {
    case 'VP8 ':
      return readLossy(data)
    case 'VP8L':
      return readLossless(data)
    case 'VP8X':
      return { width: data.readUIntLE(4, 3) + 1, height: data.readUIntLE(7, 3) + 1 }
    default:
      return undefined
  }
}

/** Reads the size of lossy data: a frame tag, the start code 9d 01 2a, and then 14 bits for each side. */
function readLossy(data: Buffer): PixelSize | undefined {
  if (data.readUIntBE(3, 3) !== 0x9d012a) return undefined
  const width = data.readUInt16LE(6) & 0x3fff
  const height = data.readUInt16LE(8) & 0x3fff
  return width > 0 && height > 0 ? { width, height } : undefined
}

/**
 * Reads the size of lossless data: the signature 2f, and then 14 bits for each side. The bits give the side
 * minus one.
 */
function readLossless(data: Buffer): PixelSize | undefined {
  if (data.readUInt8(0) !== 0x2f) return undefined
  const bits = data.readUInt32LE(1)
  return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
}
