import { randomUUID } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { freeMemory } from '../streams/freeMemory.ts'

/** The bytes of one answer that have arrived. Those of a large answer are in a file. */
export type AnswerBody = ReturnType<typeof createAnswerBody>

/**
 * Limit for the bytes of one answer in memory while it arrives. Most images of one megapixel have less in base64, and
 * fifty answers at this limit take 200 MiB.
 */
export const inMemoryBytesMax = 4 * 1024 * 1024
/** The bytes are kept in blocks of this size, which is also that of a write to the file. */
const blockBytes = 1024 * 1024

/**
 * Creates a body without bytes. Chunks are copied into blocks, because an answer can arrive in millions of tiny chunks.
 * When the disk fails, everything that is not in the file stays in memory: we have paid for the answer. `tempDir` is a
 * local folder.
 */
export function createAnswerBody(tempDir: string) {
  const blocks: Buffer[] = []
  let inMemory = 0
  let file: FileHandle | undefined
  let inFile = 0
  let diskFailed = false
  let writing: Promise<void> | undefined

  function keep(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.byteLength;) {
      const used = inMemory % blockBytes
      if (used === 0) blocks.push(Buffer.allocUnsafeSlow(blockBytes))
      const piece = chunk.subarray(at, at + blockBytes - used)
      blocks.at(-1)?.set(piece, used)
      inMemory += piece.byteLength
      at += piece.byteLength
    }
  }

  /** Moves all blocks that are full. */
  async function moveToFile(): Promise<void> {
    try {
      file ??= await openNamelessFile(tempDir)
      while (blocks[0] !== undefined && inMemory >= blockBytes) {
        await file.appendFile(blocks[0])
        freeMemory(blocks[0])
        blocks.shift()
        inFile += blockBytes
        inMemory -= blockBytes
      }
    } catch {
      // A full disk may have taken a part of a block. `inFile` does not count it, so nobody reads that part.
      diskFailed = true
    }
  }

  return {
    /** Adds the next bytes. When it returns a promise, which never rejects, the caller adds no more until then. */
    add: (chunk: Uint8Array): Promise<void> | undefined => {
      keep(chunk)
      const bytesMax = file === undefined ? inMemoryBytesMax : blockBytes
      if (inMemory <= bytesMax || diskFailed) return undefined
      writing = moveToFile()
      return writing
    },
    /** Returns how many bytes have arrived. */
    bytes: (): number => inFile + inMemory,
    /** Returns all bytes, and keeps none of them. Throws when the file cannot be read. */
    take: async (): Promise<Buffer> => {
      await writing
      try {
        const whole = Buffer.allocUnsafeSlow(inFile + inMemory)
        if (file !== undefined) await readBack(file, whole.subarray(0, inFile))
        for (const [i, block] of blocks.splice(0).entries()) {
          block.copy(whole, inFile + i * blockBytes)
          freeMemory(block)
        }
        return whole
      } finally {
        await file?.close()
      }
    },
  }
}

/**
 * Opens a file and removes its name at once. So the operating system deletes it when the process ends, even after a
 * crash.
 */
async function openNamelessFile(tempDir: string): Promise<FileHandle> {
  const path = join(tempDir, `darkroom-${randomUUID()}`)
  const file = await open(path, 'wx+', 0o600)
  await rm(path, { force: true })
  return file
}

async function readBack(file: FileHandle, target: Buffer): Promise<void> {
  for (let at = 0; at < target.length;) {
    const { bytesRead } = await file.read(target, at, target.length - at, at)
    if (bytesRead === 0) throw new Error('Bug: a held file ended early')
    at += bytesRead
  }
}
