import { crc32 } from 'node:zlib'
import { assertNever } from '../../domain/assertNever.ts'
import type { ImageWalk, WalkRequest, WholeImage } from './imageWalks.ts'
import { take, walkJpeg, walkPng, walkWebp } from './imageWalks.ts'

type WholeImageCheck = {
  readonly push: (chunk: Uint8Array) => void
  /** Yields the chunks of `content` unchanged, and calls `push` with each one. */
  readonly passThrough: (content: AsyncIterable<Uint8Array>) => AsyncGenerator<Uint8Array>
  /** Call this after the last chunk. Returns `undefined` when the bytes are not a whole PNG, JPEG or WebP. */
  readonly finish: () => WholeImage | undefined
}

/**
 * Creates a check that the bytes of a stream are a whole PNG, JPEG or WebP. Type and pixel size come from the
 * bytes, not from a declared type. The structure must be complete from the signature to the end mark, so an
 * upload that was cut off fails here and not at the upstream. Pixels are not decoded. Bytes after the end
 * mark are allowed, because some cameras add them. Only a few bytes of the image are in memory at a time.
 */
export function createWholeImageCheck(): WholeImageCheck {
  const walk = walkImage()
  let result: WholeImage | undefined
  let request: WalkRequest | undefined
  let held: Buffer = Buffer.alloc(0)
  let passing = 0
  let sum = 0
  advance(walk.next())

  function advance(step: IteratorResult<WalkRequest, WholeImage | undefined>): void {
    request = step.done === true ? undefined : step.value
    if (step.done === true) result = step.value
    if (request?.kind === 'skip' || request?.kind === 'sum') passing = request.bytes
    if (request?.kind === 'sum') sum = request.from
  }

  /**
   * Answers a request of the walk with the bytes of `chunk` from `at` on. Returns how many bytes were used,
   * or -1 when the request needs more bytes.
   */
  function serve(chunk: Buffer, at: number, asked: WalkRequest): number {
    switch (asked.kind) {
      case 'skip':
      case 'sum': {
        const used = Math.min(passing, chunk.length - at)
        passing -= used
        if (asked.kind === 'sum') sum = crc32(chunk.subarray(at, at + used), sum)
        if (passing > 0) return -1
        advance(walk.next(asked.kind === 'sum' ? bigEndian(sum) : nothing))
        return used
      }
      case 'take':
        if (chunk.length - at < asked.bytes) return -1
        advance(walk.next(chunk.subarray(at, at + asked.bytes)))
        return asked.bytes
      case 'marker': {
        const end = markerEnd(chunk, at)
        if (end === -1) return -1
        advance(walk.next(chunk.subarray(end - 1, end)))
        return end - at
      }
      default:
        return assertNever(asked)
    }
  }

  function push(chunk: Uint8Array): void {
    if (request === undefined) return
    const whole = held.length === 0 ? asBuffer(chunk) : Buffer.concat([held, chunk])
    let at = 0
    for (let asked: WalkRequest | undefined = request; asked !== undefined; asked = request) {
      const used = serve(whole, at, asked)
      if (used === -1) break
      at += used
    }
    held = neededAgain(whole, at, request)
  }

  async function* passThrough(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of content) {
      push(chunk)
      yield chunk
    }
  }

  return { push, passThrough, finish: () => result }
}

/** Finds out the format by the signature. Then walks over the structure of that format. */
function* walkImage(): ImageWalk {
  const start = (yield* take(2)).toString('latin1')
  if (start === '\xff\xd8') return yield* walkJpeg()
  const signature = start + (yield* take(2)).toString('latin1')
  if (signature === '\x89PNG') return yield* walkPng()
  if (signature === 'RIFF') return yield* walkWebp()
  return undefined
}

function asBuffer(chunk: Uint8Array): Buffer {
  return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
}

const nothing = Buffer.alloc(0)

function bigEndian(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** The bytes that the pending request must see again together with the next chunk. */
function neededAgain(chunk: Buffer, at: number, request: WalkRequest | undefined): Buffer {
  if (request?.kind === 'take') return Buffer.from(chunk.subarray(at))
  const cutMarker = request?.kind === 'marker' && at < chunk.length && chunk.at(-1) === 0xff
  return cutMarker ? Buffer.from([0xff]) : nothing
}

/**
 * Returns the end of the next JPEG marker that starts a segment, from `at` on, or -1. Skips byte pairs that
 * start no segment: FF 00 is an escaped data byte, FF D0 to FF D7 are restart marks inside a scan, and an FF
 * before another FF is padding.
 */
function markerEnd(chunk: Buffer, at: number): number {
  let ff = chunk.indexOf(0xff, at)
  while (ff !== -1 && ff + 1 < chunk.length) {
    const code = chunk.readUInt8(ff + 1)
    if (code !== 0xff && code !== 0 && (code < 0xd0 || code > 0xd7)) return ff + 2
    ff = code === 0xff ? ff + 1 : chunk.indexOf(0xff, ff + 2)
  }
  return -1
}
