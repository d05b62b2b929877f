import sharp from 'sharp'
import { describe, expect, it } from 'vitest'
import { drawImage } from '../../../src/dev/simulator/drawImage.ts'
import type { ImageOrder, SourceImage } from '../../../src/dev/simulator/order.ts'
import { pngOf } from './vendorCalls.ts'

const order: ImageOrder = {
  family: 'B',
  action: 'generate',
  model: 'familyb-image-2-vip',
  prompt: 'a red bicycle',
  sources: [],
  width: 1024,
  height: 1024,
  format: 'png',
  count: 1,
  quality: 'low',
  background: 'opaque',
  compression: 100,
}

function sourceOf(bytes: Buffer, sha256 = 'digest'): SourceImage {
  return { mimeType: 'image/png', sha256, sizeBytes: bytes.length, bytes }
}

/** The number of (nearly) white pixels in the first lines of the text. */
async function whitePixels(image: Uint8Array): Promise<number> {
  const area = { left: 52, top: 0, width: 560, height: 260 }
  const pixels = await sharp(image).extract(area).greyscale().raw().toBuffer()
  return pixels.filter((value) => value >= 250).length
}

describe('a drawn image', () => {
  it('shows the prompt in letters', async () => {
    expect(await whitePixels(await drawImage('drawn', order, 0))).toBeGreaterThan(5000)
  })

  it('is the same for the same request and differs with every part of it', async () => {
    const first = await drawImage('drawn', order, 0)
    expect(Buffer.compare(first, await drawImage('drawn', order, 0))).toBe(0)
    const red = sourceOf(await pngOf(40, 30, '#ff0000'), 'red')
    const blue = sourceOf(await pngOf(40, 30, '#0000ff'), 'blue')
    const images = await Promise.all([
      drawImage('drawn', { ...order, prompt: 'a red tricycle' }, 0),
      drawImage('drawn', { ...order, sources: [red] }, 0),
      drawImage('drawn', { ...order, sources: [blue] }, 0),
      drawImage('drawn', { ...order, sources: [red, blue] }, 0),
      drawImage('drawn', { ...order, width: 2048 }, 0),
      drawImage('drawn', order, 1),
    ])
    const different = new Set([first, ...images].map((image) => image.toString('hex')))
    expect(different.size).toBe(7)
  })

  it('shows the first source image', async () => {
    const green = sourceOf(await pngOf(400, 300, '#00ff00'))
    const { data, info } = await sharp(await drawImage('drawn', { ...order, sources: [green] }, 0))
      .raw()
      .toBuffer({ resolveWithObject: true })
    let greenPixels = 0
    for (let at = 0; at < data.length; at += info.channels) {
      if (data[at] === 0 && data[at + 1] === 255 && data[at + 2] === 0) greenPixels += 1
    }
    expect(greenPixels).toBeGreaterThan(20_000)
  })

  it.each([
    ['markup', '<b>&amp; & "quotes" </span>'],
    ['directives only', '[sim:500]'],
    ['white space', '  \n\t '],
    ['control characters and an unpaired surrogate', 'a\u0000\u0007\ud800b\u200f'],
    ['a control character only', '\u0000'],
    ['a space of no width', '\u200B'],
    ['marks of direction only', '\u202E\u2060'],
    ['a braille blank', '\u2800'],
    ['very long words', 'x'.repeat(5000)],
    ['very much text', 'many words '.repeat(5000)],
    ['characters outside the basic plane', '🚲'.repeat(3000)],
    ['other scripts', 'קוֹד 日本語 🚲 ไทย'],
  ])('can show a prompt of %s', async (_what, prompt) => {
    const image = await drawImage('drawn', { ...order, prompt }, 0)
    expect(await sharp(image).metadata()).toMatchObject({ width: 1024, height: 1024 })
  })

  it('ignores a source that cannot be decoded', async () => {
    const broken = sourceOf(Buffer.from('89504e470d0a1a0a0000', 'hex'))
    const image = await drawImage('drawn', { ...order, sources: [broken] }, 0)
    expect((await sharp(image).metadata()).format).toBe('png')
  })

  it.each([
    [192, 1536],
    [384, 3072],
    [3072, 384],
    [3840, 2160],
  ])('has the asked size of %i x %i', async (width, height) => {
    const prompt = 'many words and 日本語 '.repeat(20)
    const sources = [sourceOf(await pngOf(64, 64))]
    for (const asked of [
      { ...order, width, height, prompt },
      { ...order, width, height, sources },
    ]) {
      const image = await drawImage('drawn', asked, 0)
      expect(await sharp(image).metadata()).toMatchObject({ width, height })
    }
  })
})

describe('an image that is not drawn', () => {
  it('is one colour that depends on the request', async () => {
    const tiny = await drawImage('tiny', order, 0)
    expect(await sharp(tiny).metadata()).toMatchObject({ width: 16, height: 16, format: 'png' })
    const other = await drawImage('tiny', { ...order, prompt: 'other' }, 0)
    expect(Buffer.compare(tiny, other)).not.toBe(0)
    const sources = [sourceOf(await pngOf(8, 8))]
    const withSource = await drawImage('tiny', { ...order, sources }, 0)
    expect(Buffer.compare(tiny, withSource)).not.toBe(0)
  })

  it('is the given bytes', async () => {
    const bytes = Buffer.from('any bytes')
    expect(await drawImage(bytes, order, 0)).toBe(bytes)
  })
})
