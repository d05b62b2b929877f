import { randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import sharp from 'sharp'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { HeldImage } from '../../src/domain/upstreamCall.ts'
import { asPng, holdImage } from '../../src/upstream/heldImage.ts'
import { collect, streamOf } from '../support/byteStreams.ts'
import { tempFolder } from '../support/tempFolder.ts'

const create = { width: 40, height: 30, channels: 3, background: 'teal' } as const

async function held(bytes: Buffer): Promise<{ image: HeldImage; tempDir: string }> {
  const tempDir = tempFolder()
  const image = await holdImage(streamOf([bytes]), { tempDir, randomBytes })
  if (image === undefined) throw new Error('Not an image')
  onTestFinished(image.discard)
  return { image, tempDir }
}

async function transcoded(bytes: Buffer): Promise<HeldImage | undefined> {
  const { image, tempDir } = await held(bytes)
  const png = await asPng(image, { tempDir, randomBytes })
  if (png !== undefined) onTestFinished(png.discard)
  expect(readdirSync(tempDir)).toEqual([])
  return png
}

describe('the PNG that family B promises', () => {
  it('is the upstream’s own bytes when they are PNG', async () => {
    const { image, tempDir } = await held(await sharp({ create }).png().toBuffer())
    expect(await asPng(image, { tempDir, randomBytes })).toBe(image)
  })

  it.each(['jpeg', 'webp'] as const)('is made from a %s', async (format) => {
    const png = await transcoded(await sharp({ create }).toFormat(format).toBuffer())
    expect(png).toMatchObject({ mimeType: 'image/png', width: 40, height: 30 })
    const bytes = await collect(png?.open() ?? streamOf([]))
    expect(await sharp(bytes).metadata()).toMatchObject({ format: 'png', width: 40, height: 30 })
  })

  it('stands upright as the JPEG was meant to be seen', async () => {
    const turned = sharp({ create }).withMetadata({ orientation: 6 })
    const png = await transcoded(await turned.jpeg().toBuffer())
    expect(png).toMatchObject({ width: 30, height: 40 })
  })

  it('is not made from pixels that cannot be decoded', async () => {
    const jpeg = await sharp({ create }).jpeg().toBuffer()
    // Whole from mark to mark, so that it is held, but with the coded pixels overwritten.
    const scan = jpeg.indexOf(Buffer.from([0xff, 0xda]))
    jpeg.fill(0x55, scan + 2, jpeg.length - 2)
    jpeg.writeUInt16BE(12, scan + 2)
    expect(await transcoded(jpeg)).toBeUndefined()
  })

  it('is not made from more pixels than memory should hold', async () => {
    const huge = { ...create, width: 5000, height: 4000 }
    const jpeg = await sharp({ create: huge }).jpeg().toBuffer()
    expect(await transcoded(jpeg)).toBeUndefined()
  })

  it('is not given when what holds the original fails', async () => {
    const { image, tempDir } = await held(await sharp({ create }).jpeg().toBuffer())
    const open = (): AsyncIterable<Uint8Array> => failing()
    const failed = asPng({ ...image, open }, { tempDir, randomBytes })
    await expect(failed).rejects.toThrow('disk gone')
  })
})

async function* failing(): AsyncGenerator<Uint8Array> {
  yield Buffer.from([0xff, 0xd8])
  throw Object.assign(new Error('disk gone'), { code: 'EIO' })
}
