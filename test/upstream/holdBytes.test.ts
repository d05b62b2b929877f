import { randomBytes } from 'node:crypto'
import { readdirSync, writeFileSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { heldInMemoryBytesMax, holdBytes } from '../../src/upstream/heldImage.ts'
import { collect, streamOf } from '../support/byteStreams.ts'
import { openFilesIn, tempFolder } from '../support/tempFolder.ts'

function chunksOf(bytes: Buffer): Buffer[] {
  const size = 100_000
  const count = Math.ceil(bytes.length / size)
  return Array.from({ length: count }, (_, at) => bytes.subarray(at * size, (at + 1) * size))
}

/** Files take so many writes more, half of the next one, and then nothing. */
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

describe('bytes held aside', () => {
  it.each([0, 1, heldInMemoryBytesMax, heldInMemoryBytesMax + 1, 3 * heldInMemoryBytesMax])(
    'read the same any number of times and at once, %i of them',
    async (size) => {
      const bytes = randomBytes(size)
      const held = await holdBytes(streamOf(chunksOf(bytes)), {
        tempDir: tempFolder(),
        randomBytes,
      })
      onTestFinished(held.discard)
      expect(held.bytes).toBe(size)
      const reads = await Promise.all([collect(held.open()), collect(held.open())])
      reads.push(await collect(held.open()))
      expect(reads.map((read) => read.equals(bytes))).toEqual([true, true, true])
    },
  )

  it('lie in a file only beyond what memory may hold, and in one without a name', async () => {
    const tempDir = tempFolder()
    const hold = (size: number) =>
      holdBytes(streamOf(chunksOf(Buffer.alloc(size))), { tempDir, randomBytes })
    const small = await hold(heldInMemoryBytesMax)
    expect(openFilesIn(tempDir)).toBe(0)
    const large = await hold(heldInMemoryBytesMax + 1)
    expect(openFilesIn(tempDir)).toBe(1)
    expect(readdirSync(tempDir)).toEqual([])
    await Promise.all([small.discard(), large.discard()])
    await large.discard()
    expect(openFilesIn(tempDir)).toBe(0)
  })

  it('stay in memory where no file can be made', async () => {
    const tempDir = join(tempFolder(), 'taken')
    writeFileSync(tempDir, 'a file')
    const bytes = randomBytes(3 * heldInMemoryBytesMax)
    const held = await holdBytes(streamOf(chunksOf(bytes)), { tempDir, randomBytes })
    expect(held.bytes).toBe(bytes.length)
    const reads = await Promise.all([collect(held.open()), collect(held.open())])
    expect(reads.map((read) => read.equals(bytes))).toEqual([true, true])
    await held.discard()
    await held.discard()
  })

  it('go on in memory from the byte on where the disk is full', async () => {
    const tempDir = tempFolder()
    await fillDiskAfter(25)
    const bytes = randomBytes(3 * heldInMemoryBytesMax)
    const held = await holdBytes(streamOf(chunksOf(bytes)), { tempDir, randomBytes })
    expect(openFilesIn(tempDir)).toBe(1)
    expect(held.bytes).toBe(bytes.length)
    const reads = await Promise.all([collect(held.open()), collect(held.open())])
    expect(reads.map((read) => read.equals(bytes))).toEqual([true, true])
    await held.discard()
    expect(openFilesIn(tempDir)).toBe(0)
  })

  it('are let go of when their source fails', async () => {
    const tempDir = tempFolder()
    const source = async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.alloc(heldInMemoryBytesMax + 1)
      throw new Error('broke off')
    }
    await expect(holdBytes(source(), { tempDir, randomBytes })).rejects.toThrow('broke off')
    expect(openFilesIn(tempDir)).toBe(0)
  })
})
