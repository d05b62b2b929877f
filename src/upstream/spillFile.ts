import type { FileHandle } from 'node:fs/promises'
import { mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { RandomBytes } from '../domain/ids.ts'
import { randomText } from '../domain/ids.ts'

export type SpillDeps = {
  /** A local directory, made when absent. */
  readonly tempDir: string
  readonly randomBytes: RandomBytes
}

export type SpillFile = {
  /** False: not taken, nor anything after it, for the disk fails. Never throws. */
  readonly push: (chunk: Uint8Array) => Promise<boolean>
  /** What was taken; any number of times, also at once. */
  readonly open: () => AsyncIterable<Uint8Array>
  /** Safe to call twice. */
  readonly close: () => Promise<void>
}

const readBytesMax = 64 * 1024

/** A file without a name, made at the first push, which vanishes with the process however that ends. */
export function createSpillFile(deps: SpillDeps): SpillFile {
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
