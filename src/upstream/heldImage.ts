import type { FileHandle } from 'node:fs/promises'
import { mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import sharp from 'sharp'
import type { RandomBytes } from '../domain/ids.ts'
import { randomText } from '../domain/ids.ts'
import { outputImagePixelsMax } from '../domain/limits.ts'
import type { HeldImage } from '../domain/upstreamCall.ts'
import { createWholeImageCheck } from '../streams/images/wholeImage.ts'

/**
 * Holds an image of an upstream answer. Type and size are those of the bytes, whatever the vendor
 * declares (research wire.md section 1: the declared MIME type can be wrong). `undefined`, and nothing
 * held, when the bytes are no whole PNG, JPEG or WebP.
 */
export async function holdImage(
  content: AsyncIterable<Uint8Array>,
  deps: HoldDeps,
): Promise<HeldImage | undefined> {
  const check = createWholeImageCheck()
  const held = await holdBytes(check.passThrough(content), deps)
  const image = check.finish()
  if (image !== undefined) return { ...image, ...held }
  await held.discard()
  return undefined
}

type HeldBytes = {
  readonly bytes: number
  /** Any number of times, also at once. */
  readonly open: () => AsyncIterable<Uint8Array>
  readonly discard: () => Promise<void>
}

export type HoldDeps = SpillDeps

/** Most images of one or two megapixels stay in memory; with fifty calls at once this is 100 MiB. */
export const heldInMemoryBytesMax = 2 * 1024 * 1024

/**
 * Keeps content for reading later: in memory up to `heldInMemoryBytesMax`, beyond that in a file, and in
 * memory again from where the disk fails: what is held is paid for, and `content` is bounded. Throws what
 * `content` throws, holding nothing.
 */
export async function holdBytes(
  content: AsyncIterable<Uint8Array>,
  deps: HoldDeps,
): Promise<HeldBytes> {
  const spill = createSpillFile(deps)
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const chunk of content) {
      bytes += chunk.byteLength
      chunks.push(chunk)
      if (bytes <= heldInMemoryBytesMax) continue
      while (chunks[0] !== undefined && (await spill.push(chunks[0]))) chunks.shift()
    }
  } catch (error) {
    await spill.close()
    throw error
  }
  const open = async function* (): AsyncGenerator<Uint8Array> {
    yield* spill.open()
    yield* chunks
  }
  const discard = async (): Promise<void> => {
    chunks.length = 0
    await spill.close()
  }
  return { bytes, open, discard }
}

type SpillDeps = {
  /** A local directory, made when absent. */
  readonly tempDir: string
  readonly randomBytes: RandomBytes
}

type SpillFile = {
  /** False: not taken, nor anything after it, for the disk fails. Never throws. */
  readonly push: (chunk: Uint8Array) => Promise<boolean>
  /** What was taken; any number of times, also at once. */
  readonly open: () => AsyncIterable<Uint8Array>
  /** Safe to call twice. */
  readonly close: () => Promise<void>
}

const readBytesMax = 64 * 1024

/** A file without a name, made at the first push, which vanishes with the process however that ends. */
function createSpillFile(deps: SpillDeps): SpillFile {
  let file: FileHandle | undefined
  let bytes = 0
  let failed = false
  let closed: Promise<void> | undefined

  async function push(chunk: Uint8Array): Promise<boolean> {
    if (failed) return false
    try {
      file ??= await openNamelessFile(deps)
      await file.appendFile(chunk)
      bytes += chunk.byteLength
      return true
    } catch {
      // Of what a full disk still took of this chunk nothing is read.
      failed = true
      return false
    }
  }

  async function* read(): AsyncGenerator<Uint8Array> {
    const from = file
    if (from === undefined) return
    for (let at = 0; at < bytes;) {
      const length = Math.min(readBytesMax, bytes - at)
      const { bytesRead, buffer } = await from.read(Buffer.alloc(length), 0, length, at)
      if (bytesRead === 0) throw new Error('Bug: a held file ended early')
      at += bytesRead
      yield buffer.subarray(0, bytesRead)
    }
  }

  function close(): Promise<void> {
    closed ??= Promise.resolve(file?.close())
    return closed
  }

  return { push, open: read, close }
}

async function openNamelessFile(deps: SpillDeps): Promise<FileHandle> {
  await mkdir(deps.tempDir, { recursive: true, mode: 0o700 })
  const path = join(deps.tempDir, `held-${randomText(deps.randomBytes, 24)}`)
  const file = await open(path, 'wx+', 0o600)
  await rm(path, { force: true })
  return file
}

const transcodeSecondsMax = 60

/**
 * The image as PNG: itself, or transcoded when the upstream disobeyed (design section 4, Sync B). Takes
 * `image` over: it is discarded unless it is the answer. `undefined`: it could not be decoded, or is
 * larger than `outputImagePixelsMax`.
 */
export async function asPng(image: HeldImage, deps: HoldDeps): Promise<HeldImage | undefined> {
  if (image.mimeType === 'image/png') return image
  try {
    const decoder = sharp({ limitInputPixels: outputImagePixelsMax, failOn: 'error' })
    const encoder = decoder.autoOrient().timeout({ seconds: transcodeSecondsMax }).png()
    const source = Readable.from(image.open())
    // A pipe does not carry the source's failure on.
    source.on('error', (error) => encoder.destroy(error)).pipe(encoder)
    return await holdImage(encoder, deps)
  } catch (error) {
    if (isDecodeError(error)) return undefined
    throw error
  } finally {
    await image.discard()
  }
}

/** The library's own failures are plain errors; those of the disk carry a code. */
function isDecodeError(error: unknown): boolean {
  return error instanceof Error && !('code' in error)
}
