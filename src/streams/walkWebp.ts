import type { ImageWalk } from './imageWalk.ts'
import { skip, take } from './imageWalk.ts'

/** A WebP after `RIFF`: its first chunk gives the size, the container's length where it must end. */
export function* walkWebp(): ImageWalk {
  const container = yield* take(8)
  const riffBytes = container.readUInt32LE(0)
  if (container.toString('latin1', 4) !== 'WEBP') return undefined
  // `WEBP`, the first chunk's header and ten bytes of it are read below.
  if (riffBytes < 22) return undefined
  const first = yield* take(18)
  const size = readSize(first.toString('latin1', 0, 4), first.subarray(8))
  if (size === undefined) return undefined
  yield* skip(riffBytes - 22)
  return { mimeType: 'image/webp', ...size }
}

function readSize(chunk: string, data: Buffer): { width: number; height: number } | undefined {
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

/** Frame tag, start code 9d 01 2a, then 14 bits of each side. */
function readLossy(data: Buffer): { width: number; height: number } | undefined {
  if (data.readUIntBE(3, 3) !== 0x9d012a) return undefined
  const width = data.readUInt16LE(6) & 0x3fff
  const height = data.readUInt16LE(8) & 0x3fff
  return width > 0 && height > 0 ? { width, height } : undefined
}

/** Signature 2f, then 14 bits of each side less one. */
function readLossless(data: Buffer): { width: number; height: number } | undefined {
  if (data.readUInt8(0) !== 0x2f) return undefined
  const bits = data.readUInt32LE(1)
  return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
}
