import sharp from 'sharp'
import { describe, expect, it } from 'vitest'
import { bodyA, bodyB, blobOf, imagesOf, pngOf, useSimulator } from './vendorCalls.ts'

const drawn = useSimulator({ image: 'drawn' })
const tiny = useSimulator({ image: 'tiny' })
const fields = { model: 'm', prompt: 'a red bicycle' }

/**
 * Counts the pixels of an image whose red, green and blue are all at least these values, and at most those.
 */
async function pixelsOf(image: Buffer | undefined, least: number[], most: number[]) {
  const { data, info } = await sharp(image).raw().toBuffer({ resolveWithObject: true })
  let count = 0
  for (let at = 0; at < data.length; at += info.channels) {
    const isOne = (value: number, i: number): boolean =>
      value <= (data[at + i] ?? 0) && (data[at + i] ?? 0) <= (most[i] ?? 0)
    if (least.every(isOne)) count += 1
  }
  return count
}

describe('a drawn image', () => {
  it('shows the prompt in letters, on the first source image of an edit', async () => {
    const [made] = imagesOf(await drawn.callB(bodyB('a red bicycle')))
    const green = blobOf(await pngOf(400, 300, '#00ff00'))
    const [edited] = imagesOf(await drawn.editB(fields, [green]))
    const white = [255, 255, 255]
    expect(await pixelsOf(made, [250, 250, 250], white)).toBeGreaterThan(5000)
    expect(await pixelsOf(edited, [250, 250, 250], white)).toBeGreaterThan(5000)
    expect(await pixelsOf(edited, [0, 255, 0], [0, 255, 0])).toBeGreaterThan(20_000)
  })

  it.each([
    ['2752x1536', bodyA('x', [], { imageConfig: { aspectRatio: '16:9', imageSize: '2K' } })],
    ['192x1536', bodyA('x', [], { imageConfig: { aspectRatio: '1:8', imageSize: '512' } })],
    ['3072x384', bodyA('x', [], { imageConfig: { aspectRatio: '8:1' } })],
  ])('of family A has the size %s', async (size, body) => {
    const answer = await drawn.callA(body, { model: 'familya-3.1-flash-image' })
    const { width, height, format } = await sharp(imagesOf(answer)[0]).metadata()
    expect([`${width}x${height}`, format]).toEqual([size, 'png'])
  })

  it.each([
    ['1024x1024', 'png', {}],
    ['3840x2160', 'png', { size: '3840x2160' }],
    ['1024x1024', 'jpeg', { output_format: 'jpeg', output_compression: 0 }],
    ['1024x1024', 'webp', { output_format: 'webp' }],
  ])('of family B has the size %s and the format %s', async (size, wanted, more) => {
    const [image] = imagesOf(await drawn.callB(bodyB('many words and 日本語 '.repeat(20), more)))
    const { width, height, format } = await sharp(image).metadata()
    expect([`${width}x${height}`, format]).toEqual([size, wanted])
  })

  it.each([
    ['markup', '<b>&amp; & "quotes" </span>'],
    ['a directive only', '[sim:ok]'],
    ['white space', '  \n\t '],
    ['control characters and an unpaired surrogate', 'a\u0000\u0007\ud800b\u200f'],
    ['a control character only', '\u0000'],
    ['a space of no width', '\u200B'],
    ['marks of direction only', '\u202E\u2060'],
    ['a braille blank', '\u2800'],
    ['very long words', 'x'.repeat(5000)],
    ['characters outside the basic plane', '🚲'.repeat(3000)],
    ['other scripts', 'קוֹד 日本語 🚲 ไทย'],
  ])('can show a prompt of %s', async (_what, prompt) => {
    const body = bodyA(prompt, [], { imageConfig: { aspectRatio: '1:8', imageSize: '512' } })
    const answer = await drawn.callA(body, { model: 'familya-3.1-flash-image' })
    expect(imagesOf(answer)).toHaveLength(1)
  })

  it('ignores a source that cannot be decoded', async () => {
    const broken = blobOf(Buffer.from('89504e470d0a1a0a0000', 'hex'))
    expect((await drawn.editB(fields, [broken])).status).toBe(200)
  })
})

it('an image of a test has 16x16 pixels', async () => {
  const [image] = imagesOf(await tiny.callB(bodyB('x')))
  expect(await sharp(image).metadata()).toMatchObject({ width: 16, height: 16, format: 'png' })
})

describe('an image', () => {
  it('is the same for the same request and differs with every part of it', async () => {
    const { callA, callB, editB } = tiny
    const red = blobOf(await pngOf(40, 30, '#ff0000'))
    const blue = blobOf(await pngOf(40, 30, '#0000ff'))
    const calls = () => [
      callB({ ...fields, n: 2 }),
      callB({ ...fields, prompt: 'a red tricycle' }),
      callB({ ...fields, model: 'n' }),
      callB({ ...fields, size: '2048x1024' }),
      callB({ ...fields, quality: 'high' }),
      editB(fields, [red]),
      editB(fields, [blue]),
      editB(fields, [red, blue]),
      callA(bodyA('a red bicycle'), { model: 'm' }),
      callA(bodyA('a red bicycle', [], { seed: 3 }), { model: 'm' }),
    ]
    const [first, again] = [await Promise.all(calls()), await Promise.all(calls())]
    const images = first.flatMap(imagesOf).map((image) => image.toString('base64'))
    expect(new Set(images).size).toBe(11)
    expect(again.flatMap(imagesOf).map((image) => image.toString('base64'))).toEqual(images)
  })
})
