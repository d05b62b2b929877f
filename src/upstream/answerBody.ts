import { randomUUID } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createByteCollector } from '../bytes/byteCollector.ts'
import { freeMemory } from '../bytes/freeMemory.ts'

/** The bytes of one answer that have arrived. Those of a large answer are in a file. */
export type AnswerBody = ReturnType<typeof createAnswerBody>

/**
 * Limit for the bytes of one answer in memory while it arrives. Most images of four megapixels have less in base64, and
 * fifty answers at this limit take 400 MiB.
 */
export const inMemoryBytesMax = 8 * 1024 * 1024
/** The same once the answer has a file: this many bytes are written at once. */
const writeBytes = 1024 * 1024

/**
 * Creates a body without bytes. When the disk fails, everything that is not in the file stays in memory: we have paid for
 * the answer. `tempDir` is a local folder.
 */
export function createAnswerBody(tempDir: string) {
  let latest = createByteCollector(inMemoryBytesMax)
  /** What the disk did not take. */
  const kept: Buffer[] = []
  let file: FileHandle | undefined
  let inFile = 0
  let writing: Promise<void> | undefined

  async function moveToFile(bytes: Buffer): Promise<void> {
    try {
      file ??= await openNamelessFile(tempDir)
      await file.appendFile(bytes)
      inFile += bytes.length
      freeMemory(bytes)
    } catch {
      // A full disk may have taken a part of the bytes. `inFile` does not count it, so nobody reads that part.
      kept.push(bytes)
    }
  }

  return {
    /** Adds the next bytes. When it returns a promise, which never rejects, the caller adds no more until then. */
    add: (chunk: Uint8Array): Promise<void> | undefined => {
      if (latest.add(chunk)) return undefined
      const full = latest.bytes()
      latest = createByteCollector(Math.max(writeBytes, chunk.length))
      latest.add(chunk)
      if (kept.length === 0) writing = moveToFile(full)
      else kept.push(full)
      return writing
    },
    /** Returns how many bytes have arrived. */
    bytes: (): number => kept.reduce((sum, { length }) => sum + length, inFile + latest.length()),
    /** Returns all bytes, and keeps none of them. Throws when the file cannot be read. */
    take: async (): Promise<Buffer> => {
      await writing
      const rest = [...kept.splice(0), latest.bytes()]
      if (file === undefined && rest.length === 1) return latest.bytes()
      try {
        // The only large allocation: a second one would wait for V8 to be freed.
        const whole = Buffer.allocUnsafeSlow(rest.reduce((sum, { length }) => sum + length, inFile))
        if (file !== undefined) await readBack(file, whole.subarray(0, inFile))
        let at = inFile
        for (const bytes of rest) {
          whole.set(bytes, at)
          at += bytes.length
          freeMemory(bytes)
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
