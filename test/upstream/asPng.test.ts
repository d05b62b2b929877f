import sharp from 'sharp'
import { describe, expect, it } from 'vitest'
import { asPng } from '../../src/upstream/asPng.ts'
import { wholeImage } from '../../src/streams/images.ts'

const create = { width: 40, height: 30, channels: 3, background: 'teal' } as const

function imageOf(bytes: Buffer) {
  const image = wholeImage(bytes)
  if (image === undefined) throw new Error('Not an image')
  return { ...image, bytes }
}

describe('the PNG that family B promises', () => {
  it.each(['jpeg', 'webp'] as const)('is made from a %s', async (format) => {
    const png = await asPng(imageOf(await sharp({ create }).toFormat(format).toBuffer()))
    expect(png).toMatchObject({ mimeType: 'image/png', width: 40, height: 30 })
    const { format: made, width, height } = await sharp(png?.bytes).metadata()
    expect({ made, width, height }).toEqual({ made: 'png', width: 40, height: 30 })
  })

  it('is rotated as the orientation of the JPEG says', async () => {
    const turned = sharp({ create }).withMetadata({ orientation: 6 })
    const png = await asPng(imageOf(await turned.jpeg().toBuffer()))
    expect(png).toMatchObject({ width: 30, height: 40 })
  })

  it('is not made from pixels that cannot be decoded', async () => {
    const jpeg = await sharp({ create }).jpeg().toBuffer()
    // The structure stays whole. Only the coded pixels are overwritten.
    const scan = jpeg.indexOf(Buffer.from([0xff, 0xda]))
    jpeg.fill(0x55, scan + 2, jpeg.length - 2)
    jpeg.writeUInt16BE(12, scan + 2)
    expect(await asPng(imageOf(jpeg))).toBeUndefined()
  })

  it('is not made from more pixels than the limit', async () => {
    const huge = { ...create, width: 5000, height: 4000 }
    expect(await asPng(imageOf(await sharp({ create: huge }).jpeg().toBuffer()))).toBeUndefined()
  })
})
