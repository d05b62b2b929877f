import { randomBytes } from 'node:crypto'
import * as zlib from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { ContentCoding } from '../../src/bytes/codings.ts'
import { contentCoding, unpack } from '../../src/bytes/codings.ts'

const mebibyte = 1024 * 1024
const text = Buffer.from('{"prompt":"a lighthouse"}'.repeat(100))
const pack = {
  gzip: (bytes: Buffer) => zlib.gzipSync(bytes, { level: 1 }),
  deflate: (bytes: Buffer) => zlib.deflateSync(bytes, { level: 1 }),
  br: (bytes: Buffer) =>
    zlib.brotliCompressSync(bytes, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 } }),
  zstd: (bytes: Buffer) => zlib.zstdCompressSync(bytes),
}
const codings = ['gzip', 'deflate', 'br', 'zstd'] as const

async function unpacked(bytes: Buffer, coding: ContentCoding, bytesMax = mebibyte) {
  const result = await unpack(bytes, coding, bytesMax, { cover: () => true })
  return result.ok ? result.value : result.failure
}

async function leniently(bytes: Buffer, coding: ContentCoding) {
  const result = await unpack(bytes, coding, 2 * mebibyte, { lenient: true, cover: () => true })
  return result.ok ? result.value : result.failure
}

const behind = (packed: Buffer, more = 'more') => Buffer.concat([packed, Buffer.from(more)])

describe('a packed body', () => {
  it.each([
    ...codings.map((coding) => [coding, coding, pack[coding](text)] as const),
    ['deflate without the header of zlib', 'deflate', zlib.deflateRawSync(text)],
    [
      'gzip in two members',
      'gzip',
      Buffer.concat([pack.gzip(text.subarray(0, 9)), pack.gzip(text.subarray(9))]),
    ],
    ['gzip with zeros behind it', 'gzip', Buffer.concat([pack.gzip(text), Buffer.alloc(99)])],
  ] as const)('is unpacked: %s', async (_what, coding, bytes) => {
    expect(await unpacked(bytes, coding)).toEqual(text)
  })

  it.each(codings)(
    'is given up beyond the limit, also when it is a bomb, in %s',
    async (coding) => {
      expect(await unpacked(pack[coding](text), coding, text.length)).toEqual(text)
      expect(await unpacked(pack[coding](text), coding, text.length - 1)).toBe('too_large')
      const bomb = pack[coding](Buffer.alloc(4 * mebibyte))
      expect(await unpacked(bomb, coding, 2 * mebibyte)).toBe('too_large')
    },
  )

  it.each([
    [
      'a gzip with a wrong checksum',
      'gzip',
      Buffer.concat([pack.gzip(text).subarray(0, -8), Buffer.alloc(8)]),
    ],
    ['zeros and another byte behind gzip', 'gzip', behind(behind(pack.gzip(text), '\0\0'))],
    ['something behind bare deflate', 'deflate', behind(zlib.deflateRawSync(text))],
    ...codings.flatMap((coding) => [
      [`${coding} without its last byte`, coding, pack[coding](text).subarray(0, -1)] as const,
      [`something behind ${coding}`, coding, behind(pack[coding](text))] as const,
    ]),
  ] as const)('is refused when it is broken: %s', async (_what, coding, bytes) => {
    expect(await unpacked(bytes, coding)).toBe('corrupt_coding')
  })
})

describe('a packed answer that we pay for', () => {
  it.each(codings)('is unpacked with anything behind it: %s', async (coding) => {
    for (const more of ['\r\n', '\0', 'more', String(pack[coding](text).subarray(0, 5))]) {
      expect(await leniently(behind(pack[coding](text), more), coding)).toEqual(text)
    }
  })

  it.each(codings)('is unpacked as far as it goes: %s', async (coding) => {
    const noise = Buffer.from(randomBytes(mebibyte).toString('base64'))
    const cut = await leniently(pack[coding](noise).subarray(0, -10), coding)
    expect(cut.length).toBeGreaterThan(mebibyte)
    expect(noise.subarray(0, cut.length).equals(Buffer.from(cut))).toBe(true)
    expect(await leniently(Buffer.from('never packed'), coding)).toHaveLength(0)
  })
})

it.each([
  [undefined, undefined],
  ['identity', undefined],
  ['GZIP', 'gzip'],
  ['x-gzip', 'gzip'],
  [' , identity,, zstd ', 'zstd'],
  ['compress', 'unsupported'],
  ['gzip;q=1', 'unsupported'],
  ['gzip, br', 'unsupported'],
])('the Content-Encoding header %j means %j', (header, expected) => {
  const coding = contentCoding(header)
  expect(coding.ok ? coding.value : coding.failure).toBe(expected)
})
