import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import * as zlib from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { ContentCoding } from '../../src/streams/decodeContent.ts'
import { parseContentEncoding, decodeContent } from '../../src/streams/decodeContent.ts'
import { BodyError } from '../../src/streams/intakeFailure.ts'
import { collect, cutAt, streamOf } from '../support/byteStreams.ts'

const mebibyte = 1024 * 1024
const text = Buffer.from('{"prompt":"a lighthouse"}'.repeat(100))
const encoders = {
  gzip: (bytes: Buffer) => zlib.gzipSync(bytes, { level: 1 }),
  deflate: (bytes: Buffer) => zlib.deflateSync(bytes, { level: 1 }),
  br: (bytes: Buffer) =>
    zlib.brotliCompressSync(bytes, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 } }),
  zstd: (bytes: Buffer) => zlib.zstdCompressSync(bytes),
}
const codings = ['gzip', 'deflate', 'br', 'zstd'] as const

async function decode(bytes: Uint8Array, codings: readonly ContentCoding[], bytesMax = mebibyte) {
  return collect(decodeContent(streamOf(cutAt(bytes, [1, 2, 30])), codings, bytesMax))
}

async function failureOf(bytes: Uint8Array, codings: readonly ContentCoding[], bytesMax?: number) {
  const error: unknown = await decode(bytes, codings, bytesMax).catch((error: unknown) => error)
  if (!(error instanceof BodyError)) throw new Error('no body error', { cause: error })
  return error.failure
}

const behind = (coded: Buffer) => Buffer.concat([coded, Buffer.from('more')])

describe('content decoding', () => {
  it.each([
    ['nothing', [], text],
    ...codings.map((coding) => [coding, [coding], encoders[coding](text)] as const),
    ['bare deflate', ['deflate'], zlib.deflateRawSync(text)],
    ['two codings, the last first', ['br', 'gzip'], zlib.gzipSync(zlib.brotliCompressSync(text))],
  ] as const)('decodes %s', async (_what, codings, bytes) => {
    expect((await decode(bytes, codings)).equals(text)).toBe(true)
  })

  it('accepts exactly the limit, decoded and as sent', async () => {
    expect(await decode(zlib.gzipSync(text), ['gzip'], text.length)).toHaveLength(text.length)
    const tooLarge = { tag: 'too_large', limitBytes: text.length - 1 }
    expect(await failureOf(zlib.gzipSync(text), ['gzip'], text.length - 1)).toEqual(tooLarge)
    expect(await failureOf(text, [], text.length - 1)).toEqual(tooLarge)
    const junk = Buffer.concat([zlib.gzipSync(text), Buffer.alloc(9000)])
    expect(await failureOf(junk, ['gzip'], 8000)).toEqual({ tag: 'too_large', limitBytes: 8000 })
  })

  it.each(codings)(
    'stops a bomb of 150 MiB in %s at the limit, in little memory',
    async (coding) => {
      const bomb = encoders[coding](Buffer.alloc(150 * mebibyte))
      const before = process.memoryUsage()
      let bytes = 0
      let peak = 0
      const error: unknown = await (async () => {
        for await (const chunk of decodeContent(streamOf([bomb]), [coding], 128 * mebibyte)) {
          bytes += chunk.length
          peak = Math.max(peak, process.memoryUsage.rss())
        }
      })().catch((error: unknown) => error)
      expect(error).toBeInstanceOf(BodyError)
      expect(bytes).toBeGreaterThan(127 * mebibyte)
      expect(peak - before.rss).toBeLessThan(100 * mebibyte)
    },
  )

  it('stops a bomb inside a bomb at the inner one', async () => {
    const bomb = zlib.gzipSync(encoders.gzip(Buffer.alloc(150 * mebibyte)))
    expect(await failureOf(bomb, ['gzip', 'gzip'], mebibyte)).toMatchObject({ tag: 'too_large' })
  })

  it.each([
    ['text that was never encoded', ['gzip'], text],
    ['the end missing', ['gzip'], zlib.gzipSync(text).subarray(0, -9)],
    ['a flipped byte', ['br'], Buffer.concat([Buffer.from([0xff]), zlib.brotliCompressSync(text)])],
    ['the end of zstd missing', ['zstd'], zlib.zstdCompressSync(text).subarray(0, -3)],
    ['no bytes at all', ['gzip'], Buffer.alloc(0)],
    ['something behind bare deflate', ['deflate'], behind(zlib.deflateRawSync(text))],
    ...codings.map(
      (coding) => [`something behind ${coding}`, [coding], behind(encoders[coding](text))] as const,
    ),
  ] as const)('refuses a broken coding: %s', async (_what, codings, bytes) => {
    expect(await failureOf(bytes, codings)).toEqual({ tag: 'corrupt_coding' })
  })

  it.each(codings)('refuses bytes that arrive long after the end of %s', async (coding) => {
    const source = async function* (): AsyncGenerator<Uint8Array> {
      yield encoders[coding](text)
      for (let chunks = 0; chunks < 3; chunks += 1) {
        await sleep(20)
        yield Buffer.alloc(1, chunks)
      }
    }
    const reading = collect(decodeContent(source(), [coding], mebibyte))
    await expect(reading).rejects.toMatchObject({ failure: { tag: 'corrupt_coding' } })
  })

  it('accepts zeros after gzip as padding, but no other byte after them', async () => {
    const padded = Buffer.concat([zlib.gzipSync(text), Buffer.alloc(100)])
    for (const cuts of [[], [20], [padded.length - 50]]) {
      const read = await collect(decodeContent(streamOf(cutAt(padded, cuts)), ['gzip'], mebibyte))
      expect(read.toString()).toBe(String(text))
    }
    expect(await failureOf(behind(padded), ['gzip'])).toEqual({ tag: 'corrupt_coding' })
  })

  it('closes its source when the reader stops early', async () => {
    let closed = false
    async function* source(): AsyncGenerator<Uint8Array> {
      try {
        for (;;) yield zlib.gzipSync(text)
      } finally {
        closed = true
      }
    }
    for await (const _ of decodeContent(source(), ['gzip'], 1e12)) break
    await expect.poll(() => closed).toBe(true)
  })
})

it.each(codings)(
  'content in %s that stops early is read as far as it goes only on request',
  async (coding) => {
    const noise = Buffer.from(randomBytes(mebibyte).toString('base64'))
    const cut = encoders[coding](noise).subarray(0, -10)
    expect(await failureOf(cut, [coding], 2 * mebibyte)).toEqual({ tag: 'corrupt_coding' })
    const source = streamOf(cutAt(cut, [1000]))
    const read = await collect(decodeContent(source, [coding], 2 * mebibyte, 'ends'))
    expect(read.length).toBeGreaterThan(mebibyte)
    expect(noise.subarray(0, read.length).equals(read)).toBe(true)
  },
)

it.each([
  [undefined, []],
  ['', []],
  ['identity', []],
  ['GZIP', ['gzip']],
  ['x-gzip', ['gzip']],
  [' br , identity,, zstd ', ['br', 'zstd']],
  ['compress', undefined],
  ['gzip;q=1', undefined],
  ['gzip, lz4', undefined],
  ['gzip,gzip,gzip,gzip', undefined],
])('the Content-Encoding header %j means the codings %j', (header, codings) => {
  const parsed = parseContentEncoding(header)
  expect(parsed.ok ? parsed.value : undefined).toEqual(codings)
})
