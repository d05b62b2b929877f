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
 * Keeps an image of an upstream answer until it is stored. Type and size are read from the bytes, because
 * the MIME type that the Gemini API declares can be wrong. Returns `undefined` and keeps nothing when the
 * bytes are not a whole PNG, JPEG or WebP.
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
  /** May be called any number of times, also for several reads at once. */
  readonly open: () => AsyncIterable<Uint8Array>
  readonly discard: () => Promise<void>
}

export type HoldDeps = {
  /** A local directory, created when absent. */
  readonly tempDir: string
  readonly randomBytes: RandomBytes
}

/** Most images of one or two megapixels stay in memory. Fifty calls at once hold up to 100 MiB. */
export const heldInMemoryBytesMax = 2 * 1024 * 1024

/**
 * Keeps content to be read later: in memory up to `heldInMemoryBytesMax`, and otherwise in a file. When
 * the disk fails, the rest is kept in memory, because the image is paid for and the size of `content` is
 * limited. Throws what `content` throws and then keeps nothing.
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

type SpillFile = {
  /** Returns false when the disk fails. The file then takes no more chunks. Never throws. */
  readonly push: (chunk: Uint8Array) => Promise<boolean>
  /** Yields what the file took. May be called any number of times, also for several reads at once. */
  readonly open: () => AsyncIterable<Uint8Array>
  /** May be called twice. */
  readonly close: () => Promise<void>
}

const readBytesMax = 64 * 1024

/**
 * A file for what memory should not hold. It is created at the first push and its name is removed at
 * once, so the operating system deletes the file when the process ends in any way.
 */
function createSpillFile(deps: HoldDeps): SpillFile {
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
      // A full disk may have taken a part of this chunk. `bytes` does not count it, so it is not read.
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

async function openNamelessFile(deps: HoldDeps): Promise<FileHandle> {
  await mkdir(deps.tempDir, { recursive: true, mode: 0o700 })
  const path = join(deps.tempDir, `held-${randomText(deps.randomBytes, 24)}`)
  const file = await open(path, 'wx+', 0o600)
  await rm(path, { force: true })
  return file
}

const transcodeSecondsMax = 60

/**
 * Returns the image as PNG: the image itself, or a transcoded copy when the upstream sent another format.
 * Discards `image` unless it is the result. Returns `undefined` when the image cannot be decoded or has
 * more than `outputImagePixelsMax` pixels.
 */
export async function asPng(image: HeldImage, deps: HoldDeps): Promise<HeldImage | undefined> {
  if (image.mimeType === 'image/png') return image
  try {
    const decoder = sharp({ limitInputPixels: outputImagePixelsMax, failOn: 'error' })
    const encoder = decoder.autoOrient().timeout({ seconds: transcodeSecondsMax }).png()
    const source = Readable.from(image.open())
    // `pipe` does not pass an error of the source on.
    source.on('error', (error) => encoder.destroy(error)).pipe(encoder)
    return await holdImage(encoder, deps)
  } catch (error) {
    if (isDecodeError(error)) return undefined
    throw error
  } finally {
    await image.discard()
  }
}

/** Errors of sharp have no code. Errors of the disk have one. */
function isDecodeError(error: unknown): boolean {
  return error instanceof Error && !('code' in error)
}
