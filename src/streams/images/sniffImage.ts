import { assertNever } from '../../domain/assertNever.ts'
import type { ImageWalk, SniffedImage, WalkRequest } from './imageFormats.ts'
import { take, walkJpeg, walkPng, walkWebp } from './imageFormats.ts'

/** Watches an image go by. Holds some bytes of it, never the image. */
type ImageSniffer = {
  readonly push: (chunk: Uint8Array) => void
  /** Asked at the end; `undefined`: not a whole PNG, JPEG or WebP. */
  readonly finish: () => SniffedImage | undefined
}

/**
 * Type and pixel size by the bytes themselves, and that the structure is whole from the signature to
 * the end mark: a cut upload is noticed here, not by the upstream. Pixels are not decoded
 * (research/reliability.md section 4, Images). Bytes after the end mark are tolerated, cameras add them.
 */
export function createImageSniffer(): ImageSniffer {
  const walk = walkImage()
  let result: SniffedImage | undefined
  let request: WalkRequest | undefined
  let held: Buffer = Buffer.alloc(0)
  let skipping = 0
  advance(walk.next())

  function advance(step: IteratorResult<WalkRequest, SniffedImage | undefined>): void {
    request = step.done === true ? undefined : step.value
    if (step.done === true) result = step.value
    if (request?.kind === 'skip') skipping = request.bytes
  }

  /** Bytes of `chunk` from `at` that the request used up; -1: it needs more than there is. */
  function serve(chunk: Buffer, at: number, asked: WalkRequest): number {
    switch (asked.kind) {
      case 'skip': {
        const used = Math.min(skipping, chunk.length - at)
        skipping -= used
        if (skipping > 0) return -1
        advance(walk.next(nothing))
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
    const whole = held.length === 0 ? view(chunk) : Buffer.concat([held, chunk])
    let at = 0
    for (let asked: WalkRequest | undefined = request; asked !== undefined; asked = request) {
      const used = serve(whole, at, asked)
      if (used === -1) break
      at += used
    }
    held = rest(whole, at, request)
  }

  return { push, finish: () => result }
}

function view(chunk: Uint8Array): Buffer {
  return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
}

const nothing = Buffer.alloc(0)

/** What must be seen again together with the next chunk. */
function rest(chunk: Buffer, at: number, request: WalkRequest | undefined): Buffer {
  if (request?.kind === 'take') return Buffer.from(chunk.subarray(at))
  const cutMarker = request?.kind === 'marker' && at < chunk.length && chunk.at(-1) === 0xff
  return cutMarker ? Buffer.from([0xff]) : nothing
}

/**
 * End of the next marker from `at` on, or -1. FF 00 is a stuffed data byte, FF D0 to FF D7 restart
 * marks inside a scan, and FF before FF is padding: none of them starts a segment.
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

function* walkImage(): ImageWalk {
  const start = (yield* take(2)).toString('latin1')
  if (start === '\xff\xd8') return yield* walkJpeg()
  const word = start + (yield* take(2)).toString('latin1')
  if (word === '\x89PNG') return yield* walkPng()
  if (word === 'RIFF') return yield* walkWebp()
  return undefined
}

/** Passes the content through while the sniffer watches. */
export async function* sniffed(
  content: AsyncIterable<Uint8Array>,
  sniffer: ImageSniffer,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    sniffer.push(chunk)
    yield chunk
  }
}
