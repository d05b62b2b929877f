import { rmSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import { describe, expect, it } from 'vitest'
import { createFileBlobStore } from '../../src/blobs/fileBlobStore.ts'
import { convertBlob, convertImage } from '../../src/bytes/convertImage.ts'
import type { ImageVariant } from '../../src/domain/tasks/imageVariant.ts'
import { tempFolder } from '../support/tempFolder.ts'

const clear = { r: 0, g: 0, b: 0, alpha: 0 }
const drawing = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 4, background: clear } })

async function converted(image: Buffer, variant: ImageVariant) {
  const { bytes = Buffer.alloc(0) } = (await convertImage(image, variant)) ?? {}
  return sharp(bytes)
}

describe('a converted image', () => {
  it.each([
    [512, 512, 256],
    [1024, 800, 400],
    [undefined, 800, 400],
  ])('of 800 pixels that is asked for %s is %i wide [asset-6]', async (asked, width, height) => {
    const image = await drawing(800, 400).png().toBuffer()
    const mimeType = 'image/webp'
    const variant = { mimeType, ...(asked && { width: asked }) } as const
    const seen = await (await converted(image, variant)).metadata()
    expect(seen).toMatchObject({ format: 'webp', width, height, hasAlpha: true })
  })

  it('is turned as the image says, before it is made smaller, and says nothing of it any more [asset-6]', async () => {
    const image = await drawing(800, 400).jpeg().withMetadata({ orientation: 6 }).toBuffer()
    const small = await converted(image, { mimeType: 'image/jpeg', width: 128 })
    const { width, height, orientation, exif } = await small.metadata()
    expect([width, height, orientation, exif]).toEqual([128, 256, undefined, undefined])
  })

  it('is on white where the format has no transparency [asset-6]', async () => {
    const image = await drawing(8, 8).png().toBuffer()
    const { channels } = await (await converted(image, { mimeType: 'image/jpeg' })).stats()
    expect(channels.map(({ min }) => min)).toEqual([255, 255, 255])
  })

  it('is never made of what is no image, has too many pixels, or is too wide for the format', async () => {
    const wide = await drawing(20_000, 1).png().toBuffer()
    const many = await drawing(6_000, 6_000).png().toBuffer()
    expect(await convertImage(Buffer.from('no image'), { mimeType: 'image/png' })).toBeUndefined()
    expect(await convertImage(many, { mimeType: 'image/webp', width: 128 })).toBeUndefined()
    expect(await convertImage(wide, { mimeType: 'image/webp' })).toBeUndefined()
    expect(await convertImage(wide, { mimeType: 'image/webp', width: 128 })).toBeDefined()
  })
})

it('a stored file is converted as its bytes are, and one that is gone is an error and no bad image [asset-6]', async () => {
  const folder = tempFolder()
  const store = await createFileBlobStore(folder)
  const image = await drawing(800, 400).png().toBuffer()
  const variant = { mimeType: 'image/webp', width: 128 } as const
  await store.put(['an1/image', image])
  await store.put(['an2/image', Buffer.from('no image')])
  const convert = async (key: string, before = () => {}) => {
    const found = await store.read(key)
    before()
    return found && convertBlob(found, variant)
  }
  expect(await convert('an1/image')).toEqual((await convertImage(image, variant))?.bytes)
  expect(await convert('an2/image')).toBeUndefined()
  const remove = () => rmSync(join(folder, 'an1'), { recursive: true })
  await expect(convert('an1/image', remove)).rejects.toThrow('ENOENT')
})
