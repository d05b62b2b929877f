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

async function decode(bytes: Uint8Array, codings: readonly ContentCoding[], bytesMax = mebibyte) {
  return collect(decodeContent(streamOf(cutAt(bytes, [1, 2, 30])), codings, bytesMax))
}

async function failureOf(bytes: Uint8Array, codings: readonly ContentCoding[], bytesMax?: number) {
  const error: unknown = await decode(bytes, codings, bytesMax).catch((error: unknown) => error)
  if (!(error instanceof BodyError)) throw new Error('no body error', { cause: error })
  return error.failure
}

function behind(coded: Buffer): Buffer {
  return Buffer.concat([coded, Buffer.from('more')])
}

describe('content decoding', () => {
  it.each([
    ['nothing', [], text],
    ['gzip', ['gzip'], zlib.gzipSync(text)],
    ['deflate in the zlib format', ['deflate'], zlib.deflateSync(text)],
    ['bare deflate', ['deflate'], zlib.deflateRawSync(text)],
    ['brotli', ['br'], zlib.brotliCompressSync(text)],
    ['zstd', ['zstd'], zlib.zstdCompressSync(text)],
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

  it.each(['gzip', 'br', 'zstd', 'deflate'] as const)(
    'stops a bomb of 150 MiB in %s at the limit, in little memory',
    async (coding) => {
      const zeros = Buffer.alloc(150 * mebibyte)
      const bomb = {
        gzip: () => zlib.gzipSync(zeros, { level: 1 }),
        br: () =>
          zlib.brotliCompressSync(zeros, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 } }),
        zstd: () => zlib.zstdCompressSync(zeros),
        deflate: () => zlib.deflateSync(zeros, { level: 1 }),
      }[coding]()
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
    const inner = zlib.gzipSync(Buffer.alloc(150 * mebibyte), { level: 1 })
    const bomb = zlib.gzipSync(inner)
    expect(await failureOf(bomb, ['gzip', 'gzip'], mebibyte)).toMatchObject({ tag: 'too_large' })
  })

  it.each([
    ['text that was never encoded', ['gzip'], text],
    ['the end missing', ['gzip'], zlib.gzipSync(text).subarray(0, -9)],
    ['a flipped byte', ['br'], Buffer.concat([Buffer.from([0xff]), zlib.brotliCompressSync(text)])],
    ['the end of zstd missing', ['zstd'], zlib.zstdCompressSync(text).subarray(0, -3)],
    ['no bytes at all', ['gzip'], Buffer.alloc(0)],
    ['something behind gzip', ['gzip'], behind(zlib.gzipSync(text))],
    ['something behind deflate', ['deflate'], behind(zlib.deflateSync(text))],
    ['something behind bare deflate', ['deflate'], behind(zlib.deflateRawSync(text))],
    ['something behind br', ['br'], behind(zlib.brotliCompressSync(text))],
    ['something behind zstd', ['zstd'], behind(zlib.zstdCompressSync(text))],
  ] as const)('refuses a broken coding: %s', async (_what, codings, bytes) => {
    expect(await failureOf(bytes, codings)).toEqual({ tag: 'corrupt_coding' })
  })

  it.each(['gzip', 'deflate', 'br', 'zstd'] as const)(
    'refuses bytes after the end of %s, however late they arrive and however many they are',
    async (coding) => {
      const whole = encoders[coding](Buffer.from(text))
      for (const more of [1, 50_000]) {
        const source = async function* (): AsyncGenerator<Uint8Array> {
          yield whole
          for (let chunks = 0; chunks < 5; chunks += 1) {
            await sleep(20)
            yield Buffer.alloc(more, chunks)
          }
        }
        const reading = collect(decodeContent(source(), [coding], mebibyte))
        await expect(reading).rejects.toMatchObject({ failure: { tag: 'corrupt_coding' } })
      }
    },
  )

  it('accepts zeros after gzip as padding, but no other byte after them', async () => {
    const padded = Buffer.concat([zlib.gzipSync(text), Buffer.alloc(100)])
    for (const cuts of [[], [20], [padded.length - 50]]) {
      const read = await collect(decodeContent(streamOf(cutAt(padded, cuts)), ['gzip'], mebibyte))
      expect(read.toString()).toBe(String(text))
    }
    expect(await failureOf(behind(padded), ['gzip'])).toEqual({ tag: 'corrupt_coding' })
  })

  const noise = Buffer.from(randomBytes(mebibyte).toString('base64'))
  const encoders = {
    gzip: zlib.gzipSync,
    deflate: zlib.deflateSync,
    br: (bytes: Buffer) =>
      zlib.brotliCompressSync(bytes, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 } }),
    zstd: zlib.zstdCompressSync,
  }
  const coded = (['gzip', 'deflate', 'br', 'zstd'] as const).map(
    (coding) => [coding, encoders[coding](noise)] as const,
  )

  it.each(coded)(
    'of %s yields everything that arrived before its source failed',
    async (coding, bytes) => {
      async function* broken(): AsyncGenerator<Uint8Array> {
        yield* streamOf(cutAt(bytes, [100_000, 500_000]))
        throw new BodyError({ tag: 'interrupted' })
      }
      for (const cutOff of ['fails', 'ends'] as const) {
        const chunks: Uint8Array[] = []
        const reading = (async () => {
          for await (const chunk of decodeContent(broken(), [coding], 2 * mebibyte, cutOff)) {
            chunks.push(chunk)
            // A slow reader, which still has chunks to read when the source fails.
            if (chunks.length % 20 === 0) await sleep(1)
          }
        })()
        await expect(reading).rejects.toMatchObject({ failure: { tag: 'interrupted' } })
        expect(Buffer.concat(chunks).equals(noise)).toBe(true)
      }
    },
  )

  it.each(coded)(
    'reads %s that stops before its end as far as it goes only when the caller says so',
    async (...given) => {
      const [coding, bytes] = given
      const cut = bytes.subarray(0, -10)
      expect(await failureOf(cut, [coding], 2 * mebibyte)).toEqual({ tag: 'corrupt_coding' })
      const source = streamOf(cutAt(cut, [1000]))
      const read = await collect(decodeContent(source, [coding], 2 * mebibyte, 'ends'))
      expect(read.length).toBeGreaterThan(mebibyte)
      expect(noise.subarray(0, read.length).equals(read)).toBe(true)
    },
  )

  it('passes on an error of its source', async () => {
    async function* cut(): AsyncGenerator<Uint8Array> {
      yield zlib.gzipSync(text).subarray(0, 20)
      await Promise.resolve()
      throw new BodyError({ tag: 'interrupted' })
    }
    const reading = collect(decodeContent(cut(), ['gzip'], mebibyte))
    await expect(reading).rejects.toMatchObject({ failure: { tag: 'interrupted' } })
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
    for await (const chunk of decodeContent(source(), ['gzip'], 1e12)) {
      expect(chunk.length).toBeGreaterThan(0)
      break
    }
    await expect.poll(() => closed).toBe(true)
  })
})

describe('the Content-Encoding header', () => {
  it.each([
    [undefined, []],
    ['', []],
    ['identity', []],
    ['GZIP', ['gzip']],
    ['x-gzip', ['gzip']],
    [' br , identity,, zstd ', ['br', 'zstd']],
  ])('%j is read', (header, codings) => {
    expect(parseContentEncoding(header)).toEqual({ ok: true, value: codings })
  })

  it.each(['compress', 'gzip;q=1', 'gzip, lz4', 'gzip,gzip,gzip,gzip'])(
    '%j is refused',
    (header) => {
      expect(parseContentEncoding(header).ok).toBe(false)
    },
  )
})
