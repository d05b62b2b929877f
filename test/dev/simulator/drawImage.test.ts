import sharp from 'sharp'
import { describe, expect, it } from 'vitest'
import { createDrawImage } from '../../../src/dev/simulator/drawImage.ts'
import type { ImageOrder, SourceImage } from '../../../src/dev/simulator/imageOrder.ts'
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

const sourceOf = (bytes: Buffer, sha256 = 'digest'): SourceImage => ({
  mimeType: 'image/png',
  sha256,
  size: bytes.length,
  bytes,
})

/** How many pixels of a region are (nearly) this grey or brighter. */
async function brightPixels(image: Uint8Array, brightness: number): Promise<number> {
  const area = { left: 102, top: 80, width: 560, height: 110 }
  const pixels = await sharp(image).extract(area).greyscale().raw().toBuffer()
  return pixels.filter((value) => value >= brightness).length
}

describe('a drawn image', () => {
  it('shows the prompt in letters', async () => {
    const draw = createDrawImage('drawn')
    const letters = await brightPixels(await draw(order, 0), 250)
    expect(letters).toBeGreaterThan(5000)
  })

  it.each(['\u0000', '\u200B', '\u202E\u2060', '\u2800'])(
    'has no letters for %j',
    async (prompt) => {
      const image = await createDrawImage('drawn')({ ...order, prompt }, 0)
      expect(await brightPixels(image, 250)).toBe(0)
    },
  )

  it('is the same for the same request and differs with every part of it', async () => {
    const draw = createDrawImage({ scale: 0.25 })
    const first = await draw(order, 0)
    const again = await createDrawImage({ scale: 0.25 })(order, 0)
    expect(Buffer.compare(first, again)).toBe(0)
    const red = sourceOf(await pngOf(40, 30, '#ff0000'), 'red')
    const blue = sourceOf(await pngOf(40, 30, '#0000ff'), 'blue')
    const images = await Promise.all([
      draw({ ...order, prompt: 'a red tricycle' }, 0),
      draw({ ...order, sources: [red] }, 0),
      draw({ ...order, sources: [blue] }, 0),
      draw({ ...order, width: 2048 }, 0),
    ])
    const different = new Set([first, ...images].map((image) => Buffer.from(image).toString('hex')))
    expect(different.size).toBe(5)
  })

  it('shows the source images', async () => {
    const draw = createDrawImage('drawn')
    const green = sourceOf(await pngOf(400, 300, '#00ff00'))
    const { data, info } = await sharp(await draw({ ...order, sources: [green] }, 0))
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
    ['control characters and a lone surrogate', 'a\u0000\u0007\ud800b\u200f'],
    ['very long words', 'x'.repeat(5000)],
    ['very much text', 'many words '.repeat(5000)],
    ['other scripts', 'קוֹד 日本語 🚲 ไทย'],
  ])('can show a prompt of %s', async (_what, prompt) => {
    const image = await createDrawImage({ scale: 0.3 })({ ...order, prompt }, 0)
    expect(await sharp(image).metadata()).toMatchObject({ width: 307, height: 307 })
  })

  it('draws a source that cannot be decoded as a blank', async () => {
    const broken = sourceOf(Buffer.from('89504e470d0a1a0a0000', 'hex'))
    const image = await createDrawImage({ scale: 0.3 })({ ...order, sources: [broken] }, 0)
    expect((await sharp(image).metadata()).format).toBe('png')
  })

  it.each([
    [3072, 384, 0.01],
    [384, 3072, 0.05],
    [384, 3072, 1],
    [3072, 384, 1],
  ])('fits %i x %i at scale %f', async (width, height, scale) => {
    const source = sourceOf(await pngOf(64, 64))
    const sources = [source, source, source, source, source]
    const draw = createDrawImage({ scale })
    const image = await draw({ ...order, width, height, sources }, 0)
    const side = (length: number): number => Math.max(16, Math.round(length * scale))
    expect(await sharp(image).metadata()).toMatchObject({
      width: side(width),
      height: side(height),
    })
  })

  it('is tiny, or just some bytes, when asked for', async () => {
    const draw = createDrawImage('tiny')
    const tiny = await draw(order, 0)
    expect(await sharp(tiny).metadata()).toMatchObject({ width: 16, height: 16, format: 'png' })
    expect(Buffer.compare(tiny, await draw({ ...order, prompt: 'other' }, 0))).not.toBe(0)
    const withSource = await draw({ ...order, sources: [sourceOf(await pngOf(8, 8))] }, 0)
    expect(Buffer.compare(tiny, withSource)).not.toBe(0)
    const bytes = Buffer.from('any bytes')
    expect(await createDrawImage(bytes)(order, 0)).toBe(bytes)
  })
})
