import type { FileHandle } from 'node:fs/promises'
import { mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import sharp from 'sharp'
import type { RandomBytes } from '../domain/ids.ts'
import { randomText } from '../domain/ids.ts'
import { outputImagePixelsMax } from '../domain/limits.ts'
import type { KeptImage } from '../domain/upstream/upstreamCall.ts'
import { createWholeImageCheck } from '../streams/images/wholeImage.ts'

/**
 * Keeps an image of an upstream answer until it is stored. Reads type and size from the bytes, because the
 * MIME type that the Gemini API declares can be wrong. When the bytes are not a whole PNG, JPEG or WebP,
 * keeps nothing and returns `undefined`.
 */
export async function keepImage(
  content: AsyncIterable<Uint8Array>,
  deps: KeepDeps,
): Promise<KeptImage | undefined> {
  const check = createWholeImageCheck()
  const held = await keepBytes(check.passThrough(content), deps)
  const image = check.finish()
  if (image !== undefined) return { ...image, ...held }
  await held.discard()
  return undefined
}

type HeldBytes = {
  readonly bytes: number
  /** Yields the bytes. Several readers may read at the same time, and each may read again. */
  readonly open: () => AsyncIterable<Uint8Array>
  readonly discard: () => Promise<void>
}

export type KeepDeps = {
  /** A local directory. Created when it does not exist. */
  readonly tempDir: string
  readonly randomBytes: RandomBytes
}

/**
 * Limit for the bytes of one image in memory. Large enough for most images of one or two megapixels, small
 * enough that fifty calls together keep at most 100 MiB in memory.
 */
export const inMemoryBytesMax = 2 * 1024 * 1024

/**
 * Keeps content to be read later: in memory up to `inMemoryBytesMax`, and as a whole in a file when it is larger.
 * When the disk fails, everything that is not in the file yet stays in memory. That is acceptable, because we have
 * paid for the image, and the size of `content` is limited. When `content` throws, keeps nothing and throws the same
 * error.
 */
export async function keepBytes(
  content: AsyncIterable<Uint8Array>,
  deps: KeepDeps,
): Promise<HeldBytes> {
  const spill = createSpillFile(deps)
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const chunk of content) {
      bytes += chunk.byteLength
      chunks.push(chunk)
      if (bytes <= inMemoryBytesMax) continue
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
  /** Returns false when the disk fails. After that, the file takes no more chunks. Never throws. */
  readonly push: (chunk: Uint8Array) => Promise<boolean>
  /** Yields the bytes in the file. Several readers may read at the same time, and each may read again. */
  readonly open: () => AsyncIterable<Uint8Array>
  /** Closes the file. A second call does nothing. */
  readonly close: () => Promise<void>
}

const readBytesMax = 64 * 1024

/**
 * Creates a file for bytes that are too many for memory. The file is made at the first push, and its name is
 * removed at once. So the operating system deletes the file when the process ends, even after a crash.
 */
function createSpillFile(deps: KeepDeps): SpillFile {
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
      // A full disk may have taken only a part of this chunk. `bytes` does not count that part, so nobody
      // reads it.
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

async function openNamelessFile(deps: KeepDeps): Promise<FileHandle> {
  await mkdir(deps.tempDir, { recursive: true, mode: 0o700 })
  const path = join(deps.tempDir, `held-${randomText(deps.randomBytes, 24)}`)
  const file = await open(path, 'wx+', 0o600)
  await rm(path, { force: true })
  return file
}

const transcodeSecondsMax = 60

/**
 * Returns the image as PNG. If the upstream sent another format, returns a converted copy and discards
 * `image`. When the image cannot be decoded, or has more than `outputImagePixelsMax` pixels, discards it and
 * returns `undefined`.
 */
export async function asPng(image: KeptImage, deps: KeepDeps): Promise<KeptImage | undefined> {
  if (image.mimeType === 'image/png') return image
  try {
    const decoder = sharp({ limitInputPixels: outputImagePixelsMax, failOn: 'error' })
    const encoder = decoder.autoOrient().timeout({ seconds: transcodeSecondsMax }).png()
    const source = Readable.from(image.open())
    // `pipe` does not pass an error of `source` to `encoder`, so the listener does.
    source.on('error', (error) => encoder.destroy(error)).pipe(encoder)
    return await keepImage(encoder, deps)
  } catch (error) {
    if (isDecodeError(error)) return undefined
    throw error
  } finally {
    await image.discard()
  }
}

/**
 * Returns whether sharp could not decode the image. Errors of sharp have no code. Errors of the disk have
 * one.
 */
function isDecodeError(error: unknown): boolean {
  return error instanceof Error && !('code' in error)
}
