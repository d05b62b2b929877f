import sharp from 'sharp'
import { describe, expect, it } from 'vitest'
import { asPng } from '../../src/upstream/asPng.ts'
import { familyBResponse } from '../../src/upstream/familyB.ts'

const none = { text_tokens: 0, image_tokens: 0 }

describe('an answer of family B', () => {
  it.each([
    [undefined, { input_tokens: 0, output_tokens: 0, total_tokens: 0 }, none, none],
    [
      { input_tokens: 5, output_tokens: 6, total_tokens: 11 },
      { input_tokens: 5, output_tokens: 6, total_tokens: 11 },
      { text_tokens: 0, image_tokens: 5 },
      { text_tokens: 0, image_tokens: 6 },
    ],
    [
      { input_tokens: 5, output_tokens: 6, input_tokens_details: { text_tokens: 5 } },
      { input_tokens: 5, output_tokens: 6, total_tokens: 11 },
      { text_tokens: 5, image_tokens: 0 },
      { text_tokens: 0, image_tokens: 6 },
    ],
    [
      {
        input_tokens_details: { text_tokens: 3, image_tokens: 4 },
        output_tokens_details: { image_tokens: 6 },
      },
      { input_tokens: 7, output_tokens: 6, total_tokens: 13 },
      { text_tokens: 3, image_tokens: 4 },
      { text_tokens: 0, image_tokens: 6 },
    ],
    [
      { input_tokens: 'many', output_tokens: -2, total_tokens: 9, input_tokens_details: null },
      { input_tokens: 0, output_tokens: 9, total_tokens: 9 },
      none,
      { text_tokens: 0, image_tokens: 9 },
    ],
  ])(
    'reports the usage %j in its full shape, and only the fields of the route [sync-2]',
    (...row) => {
      const [usage, totals, input_tokens_details, output_tokens_details] = row
      const document = { created: 7, background: 'auto', output_format: 'png' }
      const given = usage === undefined ? document : { ...document, usage }
      expect(familyBResponse(given, 9)).toEqual({
        created: 7,
        data: [{ b64_json: '' }],
        usage: { ...totals, input_tokens_details, output_tokens_details },
      })
    },
  )

  it.each([undefined, 'soon', -1, 1.5, null])('gets our own time instead of %j', (created) => {
    const document = created === undefined ? {} : { created }
    expect(familyBResponse(document, 1234)).toHaveProperty('created', 1234)
  })
})

const create = { width: 40, height: 30, channels: 3, background: 'teal' } as const
const jpegOf = (bytes: Buffer) =>
  ({ mimeType: 'image/jpeg', width: 40, height: 30, bytes }) as const

// That other formats become PNG is in outcomes.test.ts.

it('a PNG is rotated as the orientation of its JPEG says', async () => {
  const turned = sharp({ create }).withMetadata({ orientation: 6 })
  const png = await asPng(jpegOf(await turned.jpeg().toBuffer()))
  expect(png).toMatchObject({ mimeType: 'image/png', width: 30, height: 40 })
  expect(await sharp(png?.bytes).metadata()).toMatchObject({ format: 'png', width: 30, height: 40 })
})

it('a PNG is made from a JPEG of the largest tier, as a relay may send it', async () => {
  const largest = sharp({ create: { ...create, width: 4096, height: 4096 } })
  const png = await asPng(jpegOf(await largest.jpeg().toBuffer()))
  expect(png).toMatchObject({ mimeType: 'image/png', width: 4096, height: 4096 })
})

it('no PNG is made from pixels that cannot be decoded, or from more than the limit', async () => {
  const jpeg = await sharp({ create }).jpeg().toBuffer()
  // The structure stays whole. Only the coded pixels are overwritten.
  const scan = jpeg.indexOf(Buffer.from([0xff, 0xda]))
  jpeg.fill(0x55, scan + 2, jpeg.length - 2)
  jpeg.writeUInt16BE(12, scan + 2)
  expect(await asPng(jpegOf(jpeg))).toBeUndefined()
  const huge = await sharp({ create: { ...create, width: 6000, height: 6000 } })
    .jpeg()
    .toBuffer()
  expect(await asPng(jpegOf(huge))).toBeUndefined()
})
