import * as fc from 'fast-check'
import sharp from 'sharp'
import { describe, expect, it } from 'vitest'
import { createWholeImageCheck } from '../../src/streams/images/wholeImage.ts'
import { collect, cutAt, streamOf } from '../support/byteStreams.ts'
import { paddedPng } from '../support/images.ts'

function checkImage(bytes: Uint8Array, cuts: readonly number[] = []) {
  const check = createWholeImageCheck()
  for (const chunk of cutAt(bytes, cuts)) check.push(chunk)
  return check.finish()
}

/** Noise does not compress, so scans and chunks have some length. */
const pixels = Buffer.from(Array.from({ length: 37 * 23 * 3 }, (_, i) => (i * 7919) % 251))
const raw = () => sharp(pixels, { raw: { width: 37, height: 23, channels: 3 } })
const exif = { exif: { IFD0: { Copyright: 'x'.repeat(5000) } } }

const images: Readonly<Record<string, Promise<Buffer>>> = {
  png: raw().png().toBuffer(),
  'interlaced palette png': raw().png({ palette: true, progressive: true }).toBuffer(),
  jpeg: raw().jpeg().toBuffer(),
  'progressive jpeg': raw().jpeg({ progressive: true }).toBuffer(),
  'jpeg with long metadata': raw().withExif(exif.exif).jpeg().toBuffer(),
  'lossy webp': raw().webp().toBuffer(),
  'lossless webp': raw().webp({ lossless: true }).toBuffer(),
  'extended webp': raw().withExif(exif.exif).webp().toBuffer(),
}

describe.each(Object.entries(images))('the check of a %s', (name, made) => {
  const mimeType = `image/${name.match(/png|jpeg|webp/)?.[0]}`

  it('reads type and size, however the bytes are cut', async () => {
    const image = await made
    const expected = { mimeType, width: 37, height: 23 }
    expect(checkImage(image)).toEqual(expected)
    expect(checkImage(image, [...image.keys()])).toEqual(expected)
    fc.assert(
      fc.property(fc.array(fc.nat(image.length)), (cuts) => {
        expect(checkImage(image, cuts)).toEqual(expected)
      }),
    )
  })

  it('refuses every part of it that stops before its end', async () => {
    const image = await made
    for (let length = 0; length < image.length; length += length < 100 ? 1 : 13) {
      expect(checkImage(image.subarray(0, length))).toBeUndefined()
    }
    expect(checkImage(image.subarray(0, -1))).toBeUndefined()
  })

  it('accepts bytes after its end', async () => {
    expect(checkImage(Buffer.concat([await made, Buffer.from('trailer')]))).toMatchObject({
      mimeType,
    })
  })
})

describe('the check of a whole image', () => {
  it.each([
    ['GIF', Buffer.from('GIF89a\x01\0\x01\0\0\0\0;', 'latin1')],
    ['HTML', Buffer.from('<html></html>')],
    ['RIFF that is not WebP', Buffer.from(`RIFF\x24\0\0\0WAVEfmt \x10\0\0\0${'x'.repeat(16)}`)],
    ['a JPEG without frame or scan', Buffer.from('ffd8ffd9', 'hex')],
    ['a JPEG without a scan', Buffer.from('ffd8ffc0000b080001000101011100ffd9', 'hex')],
    ['two JPEG signatures', Buffer.from('ffd8ffd8ffd9', 'hex')],
  ])('refuses %s', (_what, bytes) => {
    expect(checkImage(bytes)).toBeUndefined()
  })

  it('refuses a PNG with a changed byte in its signature, its header or any critical chunk', async () => {
    const image = (await images['interlaced palette png']) ?? Buffer.alloc(0)
    // The picture does not need this chunk. It has 21 bytes, of which its type is the fifth to eighth.
    const density = image.indexOf('pHYs') - 4
    for (let i = 0; i < image.length; i++) {
      if (i >= density && i < density + 21) continue
      const changed = Buffer.from(image)
      changed[i] = (changed[i] ?? 0) ^ 0x04
      const checked = [checkImage(changed), checkImage(changed, [i, i + 1])]
      expect([i, ...checked]).toEqual([i, undefined, undefined])
    }
  })

  it('accepts a PNG with a wrong checksum in a chunk that the picture does not need', () => {
    const image = paddedPng(5_000, 1)
    image[3_000] = 0
    expect(checkImage(image)).toMatchObject({ mimeType: 'image/png' })
  })

  it.each(['ff', 'ff00', 'ffe00002'])('is quick on a JPEG of 20 MiB of %s', (hex) => {
    const flood = Buffer.alloc(20 * 1024 * 1024, hex, 'hex')
    const startedAt = performance.now()
    expect(checkImage(Buffer.concat([Buffer.from('ffd8', 'hex'), flood]))).toBeUndefined()
    expect(performance.now() - startedAt).toBeLessThan(3000)
  })

  it('passes the content through unchanged', async () => {
    const image = (await images['jpeg']) ?? Buffer.alloc(0)
    const check = createWholeImageCheck()
    const passed = await collect(check.passThrough(streamOf(cutAt(image, [5, 9, 200]))))
    expect(passed.equals(image)).toBe(true)
    expect(check.finish()).toMatchObject({ width: 37 })
  })
})
