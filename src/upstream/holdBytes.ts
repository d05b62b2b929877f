import type { FileHandle } from 'node:fs/promises'
import { mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { RandomBytes } from '../domain/ids.ts'
import { randomText } from '../domain/ids.ts'

export type HeldBytes = {
  readonly bytes: number
  /** Any number of times, also at once. */
  readonly open: () => AsyncIterable<Uint8Array>
  readonly discard: () => Promise<void>
}

export type HoldDeps = {
  /** A local directory, made when absent. */
  readonly tempDir: string
  readonly randomBytes: RandomBytes
}

/** Most images of one or two megapixels stay in memory; with fifty calls at once this is 100 MiB. */
export const heldInMemoryBytesMax = 2 * 1024 * 1024
const readBytes = 64 * 1024

/**
 * Keeps content for reading later: in memory up to `heldInMemoryBytesMax`, beyond that in a file without
 * a name, which vanishes with the process however that ends. Throws what `content` or the disk throws,
 * holding nothing.
 */
export async function holdBytes(
  content: AsyncIterable<Uint8Array>,
  deps: HoldDeps,
): Promise<HeldBytes> {
  const chunks: Uint8Array[] = []
  let file: FileHandle | undefined
  let bytes = 0
  try {
    for await (const chunk of content) {
      bytes += chunk.byteLength
      chunks.push(chunk)
      if (bytes <= heldInMemoryBytesMax) continue
      file ??= await openNamelessFile(deps)
      for (const pending of chunks.splice(0)) await file.appendFile(pending)
    }
  } catch (error) {
    await file?.close()
    throw error
  }
  return file === undefined ? inMemory(chunks, bytes) : inFile(file, bytes)
}

async function openNamelessFile(deps: HoldDeps): Promise<FileHandle> {
  await mkdir(deps.tempDir, { recursive: true, mode: 0o700 })
  const path = join(deps.tempDir, `held-${randomText(deps.randomBytes, 24)}`)
  const file = await open(path, 'wx+', 0o600)
  await rm(path, { force: true })
  return file
}

function inMemory(chunks: Uint8Array[], bytes: number): HeldBytes {
  const open = async function* (): AsyncGenerator<Uint8Array> {
    yield* chunks
  }
  return {
    bytes,
    open,
    discard: () => {
      chunks.length = 0
      return Promise.resolve()
    },
  }
}

function inFile(file: FileHandle, bytes: number): HeldBytes {
  const open = async function* (): AsyncGenerator<Uint8Array> {
    let at = 0
    while (at < bytes) {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(readBytes), 0, readBytes, at)
      if (bytesRead === 0) throw new Error('Bug: a held file ended early')
      at += bytesRead
      yield buffer.subarray(0, bytesRead)
    }
  }
  let closed: Promise<void> | undefined
  return {
    bytes,
    open,
    discard: () => {
      closed ??= file.close()
      return closed
    },
  }
}
