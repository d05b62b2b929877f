import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { readJsonDocument } from '../../src/streams/json/readJsonDocument.ts'
import { createLenientBase64Decoder } from '../../src/streams/base64.ts'
import { collect, streamOf } from '../support/byteStreams.ts'
import { documentFailure, documentOptions, readDocument } from '../support/testDocuments.ts'

const roomy = { divertedBytesMax: 1e9, divertedTotalBytesMax: 1e9 }
const lenient = {
  ...documentOptions,
  createDecoder: createLenientBase64Decoder,
  take: async (content: AsyncIterable<Uint8Array>) => (await collect(content)).toString(),
}

/** Reads the text cut in two at each place, and returns the results. */
function readInHalves(text: string) {
  const bytes = Buffer.from(text)
  const halves = [...bytes.keys()].map((at) => [bytes.subarray(0, at), bytes.subarray(at)])
  return Promise.all(halves.map((chunks) => readJsonDocument(streamOf(chunks), lenient)))
}

describe('a diverted string', () => {
  it('is taken at any depth, in document order, and does not count as text', async () => {
    const large = Buffer.alloc(900, 7)
    const text = `{"x":[{"data":"${large.toString('base64')}","t":"a"},{"t":"b","data":""}],"data":5}`
    expect(await readDocument(text, { textBytesMax: 18 })).toEqual({
      ok: true,
      value: {
        document: {
          x: [
            { data: '', t: 'a' },
            { t: 'b', data: '' },
          ],
          data: 5,
        },
        diverted: [
          { path: ['x', 0, 'data'], value: large.toString('hex') },
          { path: ['x', 1, 'data'], value: '' },
        ],
      },
    })
  })

  it.each(['QQ', 'QQ==\\n', '\\u0000'])(
    'is named when it is not strict base64: %s',
    async (text) => {
      const failure = await documentFailure(`[0,{"data":"${text}"}]`)
      expect(failure).toEqual({ tag: 'invalid_base64', path: [1, 'data'] })
    },
  )

  it.each(['\0', '\n', '\u001F'])(
    'is not JSON with the bare control character %j, wherever it stands and however the text is cut',
    async (character) => {
      for (const value of [`QUJD${character}QUJD`, `${character}QUJD`, `QUJD${character}`]) {
        const results = await readInHalves(`{"data":"${value}"}`)
        for (const result of results)
          expect(result).toEqual({ ok: false, failure: { tag: 'syntax' } })
      }
    },
  )

  it('may have line breaks as escapes when its decoder allows them', async () => {
    const results = await readInHalves('{"data":"QUJD\\r\\nQUJD\\u000aQUJD"}')
    for (const result of results) {
      expect(result).toMatchObject({ ok: true, value: { diverted: [{ value: 'ABCABCABC' }] } })
    }
  })

  const strings = (...sizes: readonly number[]) =>
    JSON.stringify(sizes.map((size) => ({ data: Buffer.alloc(size).toString('base64') })))
  it.each([
    [[1001], { tag: 'diverted_too_large', path: [0, 'data'], limitBytes: 1000 }],
    [[1000, 501], { tag: 'diverted_total_too_large', path: [1, 'data'], limitBytes: 1500 }],
    [[0, 0, 0, 0], { tag: 'too_many_diverted', path: [3, 'data'], limit: 3 }],
  ])(
    'is refused above the limits of one, of all and of their number: %j',
    async (sizes, failure) => {
      expect(await documentFailure(strings(...sizes))).toEqual(failure)
      expect(await readDocument(strings(1000, 500, 0))).toMatchObject({ ok: true })
    },
  )

  it('holds the source back while its reader is slow', async () => {
    const chunk = Buffer.alloc(64 * 1024, 'QUJD')
    let given = 0
    async function* source(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('{"data":"')
      for (; given < 20; given++) yield chunk
      yield Buffer.from('"}')
    }
    const seen: number[] = []
    const take = async (content: AsyncIterable<Uint8Array>) => {
      for await (const _ of content) {
        await sleep(2)
        seen.push(given)
      }
      return ''
    }
    const result = await readJsonDocument(source(), { ...documentOptions, ...roomy, take })
    expect(result.ok).toBe(true)
    expect(seen.slice(0, 5)).toEqual([0, 0, 1, 1, 2].slice(0, seen.length))
  })

  it('ends with an error when the document around it is refused', async () => {
    let told: unknown
    const take = async (content: AsyncIterable<Uint8Array>) => {
      await collect(content).catch((error: unknown) => {
        told = error
        throw error
      })
      return ''
    }
    expect(await documentFailure('{"data":"QUJD*', { take })).toEqual({ tag: 'syntax' })
    expect(told).toMatchObject({ name: 'IntakeAbandonedError' })
  })

  it('passes on an error of its reader and an error of the source', async () => {
    const text = `{"data":"${'QUJD'.repeat(30_000)}"}`
    const take = () => Promise.reject(new Error('disk full'))
    await expect(readDocument(text, { ...roomy, take })).rejects.toThrow('disk full')
    async function* cut(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(text.slice(0, 70_000))
      throw new Error('connection lost')
    }
    await expect(readJsonDocument(cut(), { ...documentOptions, ...roomy })).rejects.toThrow('lost')
  })

  it.each<[string, (content: AsyncIterable<Uint8Array>) => Promise<string>]>([
    ['unread', async () => 'left'],
    [
      'after its first bytes',
      async (content) => {
        for await (const _ of content) break
        return 'left'
      },
    ],
  ])('may be left by its reader: %s', async (_what, take) => {
    const text = `{"data":"${'QUJD'.repeat(100_000)}","a":1}`
    const value = { document: { a: 1, data: '' }, diverted: [{ value: 'left' }] }
    expect(await readDocument(text, { ...roomy, take })).toMatchObject({ ok: true, value })
  })
})
