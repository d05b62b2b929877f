import { describe, expect, it } from 'vitest'
import { readJsonDocument } from '../../src/streams/json/readJsonDocument.ts'
import { createLenientBase64Decoder } from '../../src/streams/base64.ts'
import { collect, streamOf } from '../support/byteStreams.ts'
import { documentFailure, documentOptions, readDocument } from '../support/testDocuments.ts'

describe('a diverted string', () => {
  const bytes = (count: number) => `"data":"${Buffer.alloc(count, 7).toString('base64')}"`

  it('is taken at any depth, in document order', async () => {
    const text = `{"x":[{"data":"QQ==","t":"a"},{"t":"b","data":""}],"data":5}`
    expect(await readDocument(text)).toEqual({
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
          { path: ['x', 0, 'data'], value: '41' },
          { path: ['x', 1, 'data'], value: '' },
        ],
      },
    })
  })

  it('does not count as text', async () => {
    expect(await readDocument(`{${bytes(900)}}`, { textBytesMax: 4 })).toMatchObject({ ok: true })
  })

  it('that is not strict base64 is named by its path', async () => {
    const failure = { tag: 'invalid_base64', path: [1, 'data'] }
    expect(await documentFailure('[0,{"data":"QQ"}]')).toEqual(failure)
    expect(await documentFailure('[0,{"data":"QQ==\\n"}]')).toEqual(failure)
    expect(await documentFailure('[0,{"data":"\\u0000"}]')).toEqual(failure)
  })

  it('is not JSON with a bare control character, wherever it stands and however the text is cut', async () => {
    for (const character of ['\0', '\n', '\u001F']) {
      for (const value of [`QUJD${character}QUJD`, `${character}QUJD`, `QUJD${character}`]) {
        const text = Buffer.from(`{"data":"${value}"}`)
        for (let cut = 1; cut < text.length; cut += 1) {
          const chunks = [text.subarray(0, cut), text.subarray(cut)]
          const failure = await readJsonDocument(streamOf(chunks), {
            ...documentOptions,
            createDecoder: createLenientBase64Decoder,
            take: collect,
          })
          expect(failure).toEqual({ ok: false, failure: { tag: 'syntax' } })
        }
      }
    }
  })

  it('may have line breaks as escapes when its decoder allows them', async () => {
    const text = Buffer.from('{"data":"QUJD\\r\\nQUJD\\u000aQUJD"}')
    for (let cut = 1; cut < text.length; cut += 1) {
      const read = await readJsonDocument(streamOf([text.subarray(0, cut), text.subarray(cut)]), {
        ...documentOptions,
        createDecoder: createLenientBase64Decoder,
        take: async (content) => (await collect(content)).toString(),
      })
      expect(read).toMatchObject({ ok: true, value: { diverted: [{ value: 'ABCABCABC' }] } })
    }
  })

  it('is refused only above the limits of one string, of all strings and of their number', async () => {
    expect(await readDocument(`{${bytes(1000)}}`)).toMatchObject({ ok: true })
    expect(await documentFailure(`{${bytes(1001)}}`)).toEqual({
      tag: 'diverted_too_large',
      path: ['data'],
      limitBytes: 1000,
    })
    expect(await readDocument(`[{${bytes(1000)}},{${bytes(500)}}]`)).toMatchObject({ ok: true })
    expect(await documentFailure(`[{${bytes(1000)}},{${bytes(501)}}]`)).toEqual({
      tag: 'diverted_total_too_large',
      path: [1, 'data'],
      limitBytes: 1500,
    })
    expect(await documentFailure('[{"data":""},{"data":""},{"data":""},{"data":""}]')).toEqual({
      tag: 'too_many_diverted',
      path: [3, 'data'],
      limit: 3,
    })
  })

  it('holds the source back while its reader is slow', async () => {
    const chunk = Buffer.alloc(64 * 1024, 'QUJD')
    let given = 0
    async function* source(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('{"data":"')
      for (; given < 20; given++) yield chunk
      yield Buffer.from('"}')
    }
    const seen: number[] = []
    const result = await readJsonDocument(source(), {
      ...documentOptions,
      divertedBytesMax: 1e9,
      divertedTotalBytesMax: 1e9,
      take: async (content) => {
        let bytes = 0
        for await (const piece of content) {
          await new Promise((resolve) => setTimeout(resolve, 2))
          bytes += piece.length
          seen.push(given)
        }
        return String(bytes)
      },
    })
    expect(result.ok).toBe(true)
    expect(seen.slice(0, 5)).toEqual([0, 0, 1, 1, 2].slice(0, seen.length))
  })

  it('ends with an error when the document around it is refused', async () => {
    let told: unknown
    const failure = await documentFailure('{"data":"QUJD*', {
      take: async (content) => {
        try {
          return (await collect(content)).toString()
        } catch (error) {
          told = error
          throw error
        }
      },
    })
    expect(failure).toEqual({ tag: 'syntax' })
    expect(told).toMatchObject({ name: 'IntakeAbandonedError' })
  })

  it('passes on an error of its reader and an error of the source', async () => {
    const text = `{"data":"${'QUJD'.repeat(30_000)}"}`
    const large = { divertedBytesMax: 1e9, divertedTotalBytesMax: 1e9 }
    const take = () => Promise.reject(new Error('disk full'))
    await expect(readDocument(text, { ...large, take })).rejects.toThrow('disk full')
    async function* cut(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(text.slice(0, 70_000))
      await Promise.resolve()
      throw new Error('connection lost')
    }
    await expect(readJsonDocument(cut(), { ...documentOptions, ...large })).rejects.toThrow('lost')
  })

  it('may be left by its reader after the first bytes', async () => {
    const text = `{"data":"${'QUJD'.repeat(100_000)}","a":1}`
    const large = { divertedBytesMax: 1e9, divertedTotalBytesMax: 1e9 }
    const take = async (content: AsyncIterable<Uint8Array>) => {
      for await (const piece of content) return String(piece.length > 0)
      return 'nothing'
    }
    const result = await readDocument(text, { ...large, take })
    expect(result).toMatchObject({ ok: true, value: { diverted: [{ value: 'true' }] } })
  })

  it('may be left unread by `take`', async () => {
    const text = `{"data":"${'QUJD'.repeat(100)}","a":1}`
    const result = await readDocument(text, { take: async () => 'unread' })
    expect(result).toMatchObject({ ok: true, value: { document: { a: 1, data: '' } } })
  })
})
