import { crc32 } from 'node:zlib'
import sharp from 'sharp'
import { describe, expect, it } from 'vitest'
import { wholeImage } from '../../src/bytes/images.ts'
import { paddedPng } from '../support/images.ts'

/** Noise does not compress, so scans and chunks have some length. */
const pixels = Buffer.from(Array.from({ length: 37 * 23 * 3 }, (_, i) => (i * 7919) % 251))
const raw = () => sharp(pixels, { raw: { width: 37, height: 23, channels: 3 } })
const copyright = { IFD0: { Copyright: 'x'.repeat(5000) } }
const png = await raw().png().toBuffer()
const jpeg = await raw().jpeg().toBuffer()
const progressive = await raw().jpeg({ progressive: true }).toBuffer()

/** A JPEG with another file in a segment before its scan, as cameras store thumbnails. */
function withSegment(image: Buffer, content: Buffer): Buffer {
  const head = Buffer.from([0xff, 0xe1, 0, 0])
  head.writeUInt16BE(content.length + 2, 2)
  return Buffer.concat([image.subarray(0, 2), head, content, image.subarray(2)])
}

function chunk(type: string, content: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), content])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(content.length)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}

/** Where the chunks of a PNG begin after its signature and IHDR. */
const afterHeader = 33
const withChunk = (type: string, content: Buffer) =>
  Buffer.concat([png.subarray(0, afterHeader), chunk(type, content), png.subarray(afterHeader)])

const images: Readonly<Record<string, Buffer>> = {
  png,
  'interlaced palette png': await raw().png({ palette: true, progressive: true }).toBuffer(),
  'grey png of 16 bits': await raw().toColourspace('grey16').png().toBuffer(),
  'png with another png in a chunk': withChunk('caBX', png),
  jpeg,
  'progressive jpeg': progressive,
  'jpeg with long metadata': await raw().withExif(copyright).jpeg().toBuffer(),
  'jpeg with a thumbnail': withSegment(progressive, jpeg),
  'jpeg with padding before a marker': Buffer.concat([
    jpeg.subarray(0, 2),
    Buffer.from('ffff', 'hex'),
    jpeg.subarray(2),
  ]),
  'lossy webp': await raw().webp().toBuffer(),
  'lossless webp': await raw().webp({ lossless: true }).toBuffer(),
  'extended webp': await raw().withExif(copyright).webp().toBuffer(),
}

describe.each(Object.entries(images))('a whole %s', (name, image) => {
  it('is accepted with its type and size, and with bytes after its end', () => {
    const mimeType = `image/${name.match(/png|jpeg|webp/)?.[0]}`
    const expected = { mimeType, width: 37, height: 23 }
    expect(wholeImage(image)).toEqual(expected)
    expect(wholeImage(Buffer.concat([image, Buffer.from('trailer')]))).toEqual(expected)
    // A Motion Photo is a JPEG with a video behind it, and an MPO one with another JPEG.
    expect(wholeImage(Buffer.concat([image, jpeg.subarray(0, 300)]))).toEqual(expected)
  })

  it('is refused wherever it is cut off', () => {
    const accepted = [...image.keys()].filter((length) => wholeImage(image.subarray(0, length)))
    expect(accepted).toEqual([])
  })
})

it('the height of a JPEG is 0 where its frame leaves it to a mark behind the first scan', () => {
  const unsized = Buffer.from(jpeg)
  unsized.writeUInt16BE(0, jpeg.indexOf(Buffer.from([0xff, 0xc0])) + 5)
  expect(wholeImage(unsized)).toEqual({ mimeType: 'image/jpeg', width: 37, height: 0 })
})

describe('what is no whole image', () => {
  it.each([
    ['nothing', Buffer.alloc(0)],
    ['GIF', Buffer.from('GIF89a\x01\0\x01\0\0\0\0;', 'latin1')],
    ['RIFF that is not WebP', Buffer.from(`RIFF\x24\0\0\0WAVEfmt \x10\0\0\0${'x'.repeat(16)}`)],
    [
      'WebP with an unknown chunk',
      Buffer.from(`RIFF\x24\0\0\0WEBPVP9 \x10\0\0\0${'x'.repeat(24)}`),
    ],
    ['WebP without image data', Buffer.from(`RIFF\x24\0\0\0WEBPVP8 \x10\0\0\0${'x'.repeat(24)}`)],
    ['a JPEG without frame or scan', Buffer.from('ffd8ffd9', 'hex')],
    ['a JPEG without a scan', Buffer.from('ffd8ffc0000b080001000101011100ffd9', 'hex')],
    ['a JPEG without a frame', Buffer.from('ffd8ffda00020000ffd9', 'hex')],
    [
      'a JPEG of which 70 % have arrived, thumbnail included',
      withSegment(jpeg, jpeg).subarray(0, jpeg.length * 1.7),
    ],
    [
      'a PNG without its data',
      Buffer.concat([png.subarray(0, afterHeader), chunk('IEND', Buffer.alloc(0))]),
    ],
    [
      'a PNG cut off behind another one in a chunk',
      withChunk('caBX', png).subarray(0, png.length + 60),
    ],
    [
      'a PNG that went through a transfer of text',
      Buffer.from(png.toString('latin1').replace('\r\n', '\n'), 'latin1'),
    ],
    [
      'a PNG whose first chunk is not IHDR',
      Buffer.concat([png.subarray(0, 8), chunk('tEXt', Buffer.alloc(13)), png.subarray(8)]),
    ],
  ])('is refused: %s', (_what, bytes) => {
    expect(wholeImage(bytes)).toBeUndefined()
  })

  it.each([
    ['a width of 0', 0, '00000000'],
    ['a height beyond the limit', 4, '80000000'],
    ['a palette of 16 bits', 8, '1003'],
    ['colour type 1', 9, '01'],
    ['an unknown filter', 11, '01'],
    ['an unknown interlacing', 12, '02'],
  ])('is refused: a PNG with %s', (_what, at, hex) => {
    const header = Buffer.from(png.subarray(16, 29))
    const changed = (content: Buffer) =>
      Buffer.concat([png.subarray(0, 8), chunk('IHDR', content), png.subarray(afterHeader)])
    expect(wholeImage(changed(header))).toMatchObject({ mimeType: 'image/png' })
    Buffer.from(hex, 'hex').copy(header, at)
    expect(wholeImage(changed(header))).toBeUndefined()
  })

  it('is refused: a PNG with a changed byte in its signature, its header or any critical chunk', () => {
    const image = images['interlaced palette png'] ?? png
    // The picture does not need this chunk. It has 21 bytes, of which its type is the fifth to eighth.
    const density = image.indexOf('pHYs') - 4
    const accepted = [...image.keys()].filter((at) => {
      const changed = Buffer.from(image)
      changed[at] = (changed[at] ?? 0) ^ 0x04
      return wholeImage(changed) !== undefined
    })
    expect(accepted.filter((at) => at < density || at >= density + 21)).toEqual([])
  })

  it('is not a PNG with a wrong checksum in a chunk that the picture does not need', () => {
    const image = paddedPng(5_000, 1)
    image[3_000] = 0
    expect(wholeImage(image)).toMatchObject({ mimeType: 'image/png' })
  })
})

const frame = 'ffd8ffc0000b080001000101011100'
const header = png.subarray(0, afterHeader).toString('hex')
it.each([
  ['JPEG', 'ffd8', 'ff'],
  ['JPEG', 'ffd8', 'ffe00002'],
  ['JPEG', `${frame}ffda0002`, 'd9'],
  ['PNG', header, '000000006141414100000000'],
])('20 MiB are refused quickly that begin as a %s, %s, and go on with %s', (_what, begin, hex) => {
  const flood = Buffer.concat([
    Buffer.from(begin, 'hex'),
    Buffer.alloc(20 * 1024 * 1024, hex, 'hex'),
  ])
  const before = process.cpuUsage()
  expect(wholeImage(flood)).toBeUndefined()
  const { user, system } = process.cpuUsage(before)
  expect((user + system) / 1000).toBeLessThan(500)
})
