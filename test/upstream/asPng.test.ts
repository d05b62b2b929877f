import sharp from 'sharp'
import { expect, it } from 'vitest'
import { asPng } from '../../src/upstream/asPng.ts'

const create = { width: 40, height: 30, channels: 3, background: 'teal' } as const
const jpegOf = (bytes: Buffer) => ({ mimeType: 'image/jpeg', bytes }) as const

// That other formats become PNG is in outcomes.test.ts.

it('a PNG is rotated as the orientation of its JPEG says', async () => {
  const turned = sharp({ create }).withMetadata({ orientation: 6 })
  const png = await asPng(jpegOf(await turned.jpeg().toBuffer()))
  expect(await sharp(png?.bytes).metadata()).toMatchObject({ format: 'png', width: 30, height: 40 })
})

it('no PNG is made from pixels that cannot be decoded, or from more than the limit', async () => {
  const jpeg = await sharp({ create }).jpeg().toBuffer()
  // The structure stays whole. Only the coded pixels are overwritten.
  const scan = jpeg.indexOf(Buffer.from([0xff, 0xda]))
  jpeg.fill(0x55, scan + 2, jpeg.length - 2)
  jpeg.writeUInt16BE(12, scan + 2)
  expect(await asPng(jpegOf(jpeg))).toBeUndefined()
  const huge = await sharp({ create: { ...create, width: 5000, height: 4000 } })
    .jpeg()
    .toBuffer()
  expect(await asPng(jpegOf(huge))).toBeUndefined()
})
