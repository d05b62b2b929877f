import { randomBytes } from 'node:crypto'
import { readdirSync, writeFileSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import sharp from 'sharp'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { KeptImage } from '../../src/domain/upstream/upstreamCall.ts'
import { asPng, inMemoryBytesMax, keepBytes, keepImage } from '../../src/upstream/keptImage.ts'
import { collect, streamOf } from '../support/byteStreams.ts'
import { openFilesIn, tempFolder } from '../support/tempFolder.ts'

function chunksOf(bytes: Buffer): Buffer[] {
  const size = 100_000
  const count = Math.ceil(bytes.length / size)
  return Array.from({ length: count }, (_, at) => bytes.subarray(at * size, (at + 1) * size))
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

/** Holds the bytes, and returns how many they say they are and two reads at once and one after them. */
async function heldAndRead(bytes: Buffer, tempDir: string) {
  const held = await keepBytes(streamOf(chunksOf(bytes)), { tempDir, randomBytes })
  const reads = await Promise.all([collect(held.open()), collect(held.open())])
  reads.push(await collect(held.open()))
  return { held, isWhole: held.bytes === bytes.length && reads.every((read) => read.equals(bytes)) }
}

describe('held bytes', () => {
  it.each([
    [0, 0],
    [1, 0],
    [inMemoryBytesMax, 0],
    [inMemoryBytesMax + 1, 1],
    [3 * inMemoryBytesMax, 1],
  ])('are read unchanged any number of times: %i of them, in %i files', async (size, files) => {
    const tempDir = tempFolder()
    const { held, isWhole } = await heldAndRead(randomBytes(size), tempDir)
    expect(isWhole).toBe(true)
    expect(openFilesIn(tempDir)).toBe(files)
    // The file has no name, so that nothing is left of it when the process dies.
    expect(readdirSync(tempDir)).toEqual([])
    await held.discard()
    await held.discard()
    expect(openFilesIn(tempDir)).toBe(0)
  })

  it('stay in memory when no file can be created', async () => {
    const tempDir = join(tempFolder(), 'taken')
    writeFileSync(tempDir, 'a file')
    const { held, isWhole } = await heldAndRead(randomBytes(3 * inMemoryBytesMax), tempDir)
    expect(isWhole).toBe(true)
    await held.discard()
  })

  it('are kept in memory from the byte at which the disk is full', async () => {
    const tempDir = tempFolder()
    await fillDiskAfter(25)
    const { held, isWhole } = await heldAndRead(randomBytes(3 * inMemoryBytesMax), tempDir)
    expect(isWhole).toBe(true)
    expect(openFilesIn(tempDir)).toBe(1)
    await held.discard()
    expect(openFilesIn(tempDir)).toBe(0)
  })

  it('are freed when their source fails', async () => {
    const tempDir = tempFolder()
    const source = async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.alloc(inMemoryBytesMax + 1)
      throw new Error('broke off')
    }
    await expect(keepBytes(source(), { tempDir, randomBytes })).rejects.toThrow('broke off')
    expect(openFilesIn(tempDir)).toBe(0)
  })
})

const create = { width: 40, height: 30, channels: 3, background: 'teal' } as const

async function held(bytes: Buffer): Promise<{ image: KeptImage; tempDir: string }> {
  const tempDir = tempFolder()
  const image = await keepImage(streamOf([bytes]), { tempDir, randomBytes })
  if (image === undefined) throw new Error('Not an image')
  onTestFinished(image.discard)
  return { image, tempDir }
}

async function transcoded(bytes: Buffer): Promise<KeptImage | undefined> {
  const { image, tempDir } = await held(bytes)
  const png = await asPng(image, { tempDir, randomBytes })
  if (png !== undefined) onTestFinished(png.discard)
  expect(readdirSync(tempDir)).toEqual([])
  return png
}

describe('the PNG that family B promises', () => {
  it('is the image of the upstream when that is a PNG', async () => {
    const { image, tempDir } = await held(await sharp({ create }).png().toBuffer())
    expect(await asPng(image, { tempDir, randomBytes })).toBe(image)
  })

  it.each(['jpeg', 'webp'] as const)('is made from a %s', async (format) => {
    const png = await transcoded(await sharp({ create }).toFormat(format).toBuffer())
    expect(png).toMatchObject({ mimeType: 'image/png', width: 40, height: 30 })
    const bytes = await collect(png?.open() ?? streamOf([]))
    expect(await sharp(bytes).metadata()).toMatchObject({ format: 'png', width: 40, height: 30 })
  })

  it('is rotated as the orientation of the JPEG says', async () => {
    const turned = sharp({ create }).withMetadata({ orientation: 6 })
    const png = await transcoded(await turned.jpeg().toBuffer())
    expect(png).toMatchObject({ width: 30, height: 40 })
  })

  it('is not made from pixels that cannot be decoded', async () => {
    const jpeg = await sharp({ create }).jpeg().toBuffer()
    // The structure stays whole, so that the image is held. Only the coded pixels are overwritten.
    const scan = jpeg.indexOf(Buffer.from([0xff, 0xda]))
    jpeg.fill(0x55, scan + 2, jpeg.length - 2)
    jpeg.writeUInt16BE(12, scan + 2)
    expect(await transcoded(jpeg)).toBeUndefined()
  })

  it('is not made from more pixels than the limit', async () => {
    const huge = { ...create, width: 5000, height: 4000 }
    const jpeg = await sharp({ create: huge }).jpeg().toBuffer()
    expect(await transcoded(jpeg)).toBeUndefined()
  })

  it('is an error when the original cannot be read', async () => {
    const { image, tempDir } = await held(await sharp({ create }).jpeg().toBuffer())
    async function* open(): AsyncGenerator<Uint8Array> {
      yield Buffer.from([0xff, 0xd8])
      throw Object.assign(new Error('disk gone'), { code: 'EIO' })
    }
    const failed = asPng({ ...image, open }, { tempDir, randomBytes })
    await expect(failed).rejects.toThrow('disk gone')
  })
})
