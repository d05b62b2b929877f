import { randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createAnswerBody, inMemoryBytesMax } from '../../src/upstream/answerBody.ts'
import { openFilesIn, tempFolder } from '../support/tempFolder.ts'

/** Adds the bytes in chunks as the network does, and returns the body. */
async function arrived(bytes: Buffer, tempDir: string, size = 60_000) {
  const body = createAnswerBody(tempDir)
  for (let at = 0; at < bytes.length; at += size) await body.add(bytes.subarray(at, at + size))
  return body
}

/** After this many writes a file takes only a part of the next write, and then nothing. */
async function fillDiskAfter(writes: number): Promise<void> {
  const probe = await open(join(tempFolder(), 'probe'), 'w')
  const files: FileHandle = Object.getPrototypeOf(probe)
  await probe.close()
  let written = 0
  const spy = vi.spyOn(files, 'appendFile').mockImplementation(async function (
    this: FileHandle,
    data,
  ) {
    written += 1
    if (written <= writes) return await this.writeFile(data)
    if (written === writes + 1) await this.writeFile(Buffer.alloc(5000))
    throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
  })
  onTestFinished(() => spy.mockRestore())
}

describe('the body of an answer', () => {
  it.each([
    [0, 0],
    [inMemoryBytesMax, 0],
    [inMemoryBytesMax + 1, 1],
    [3 * inMemoryBytesMax, 1],
  ])('is kept unchanged: %i bytes, in %i files without a name', async (size, files) => {
    const tempDir = tempFolder()
    const bytes = randomBytes(size)
    const body = await arrived(bytes, tempDir)
    expect(openFilesIn(tempDir)).toBe(files)
    expect(body.bytes()).toBe(size)
    // Nothing is left of such a file when the process dies.
    expect(readdirSync(tempDir)).toEqual([])
    expect((await body.take()).equals(bytes)).toBe(true)
    expect(openFilesIn(tempDir)).toBe(0)
  })

  it('is kept in memory from the byte at which the disk is full', async () => {
    const tempDir = tempFolder()
    await fillDiskAfter(3)
    const bytes = randomBytes(3 * inMemoryBytesMax)
    const body = await arrived(bytes, tempDir)
    expect(openFilesIn(tempDir)).toBe(1)
    expect((await body.take()).equals(bytes)).toBe(true)
    expect(openFilesIn(tempDir)).toBe(0)
  })

  it('takes its bytes in memory once, also in the moment when it is read back from its file', async () => {
    const size = 8 * inMemoryBytesMax
    const bytes = randomBytes(size)
    const body = await arrived(bytes, tempFolder())
    const before = process.memoryUsage().arrayBuffers
    const taken = await body.take()
    const grownBytes = process.memoryUsage().arrayBuffers - before
    expect(taken.equals(bytes)).toBe(true)
    expect(grownBytes).toBeLessThan(1.2 * size)
  })
})
