import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JsonIntakeFailure, JsonPath } from '../../src/streams/intakeFailure.ts'
import type { ReadJsonOptions } from '../../src/streams/json/readJsonDocument.ts'
import { jsonTextBytes } from '../../src/streams/json/documentBuilder.ts'
import { readJsonDocument } from '../../src/streams/json/readJsonDocument.ts'
import { collect, cutAt, streamOf } from '../support/byteStreams.ts'

const isData = (path: JsonPath) => path.at(-1) === 'data'

const options: ReadJsonOptions<string> = {
  divert: isData,
  take: async (content) => (await collect(content)).toString('hex'),
  depthMax: 8,
  tokensMax: 1000,
  textBytesMax: 4096,
  unstorableText: 'refuse',
  equalKeys: 'refuse',
  divertedBytesMax: 1000,
  divertedTotalBytesMax: 1500,
  divertedCountMax: 3,
}

async function read(
  text: string | Uint8Array,
  changed: Partial<ReadJsonOptions<string>> = {},
  cuts: readonly number[] = [],
) {
  const chunks = cutAt(Buffer.from(text), cuts)
  return readJsonDocument(streamOf(chunks), { ...options, ...changed })
}

async function failureOf(
  text: string | Uint8Array,
  changed: Partial<ReadJsonOptions<string>> = {},
): Promise<JsonIntakeFailure> {
  const result = await read(text, changed)
  if (result.ok) throw new Error('taken in')
  return result.failure
}

describe('a JSON document', () => {
  it('is read as JSON.parse reads it, however its bytes are cut', async () => {
    // Texts with \u escapes may be unstorable. Those have their own tests below.
    const texts = fc.json({ maxDepth: 3 }).filter((text) => !text.includes('\\u'))
    const cuts = fc.array(fc.nat(200), { maxLength: 20 })
    await fc.assert(
      fc.asyncProperty(texts, cuts, async (text, cuts) => {
        const result = await read(text, { divert: () => false, depthMax: 32 }, cuts)
        expect(result.ok && JSON.stringify(result.value.document)).toBe(
          JSON.stringify(JSON.parse(text)),
        )
      }),
      { numRuns: 300 },
    )
  })

  it('is read the same when cut between any two bytes', async () => {
    const text = '{"é":[1.5e-3,-0,true,null,"\\ud83d\\ude00😀\\/"],"data":"QUJD\\/\\u002b8="}'
    const whole = await read(text)
    expect(whole).toEqual({
      ok: true,
      value: {
        document: { é: [0.0015, -0, true, null, '😀😀/'], data: '' },
        diverted: [{ path: ['data'], value: '414243ffef' }],
      },
    })
    for (let cut = 1; cut < Buffer.byteLength(text); cut++) {
      expect(await read(text, {}, [cut])).toEqual(whole)
    }
    expect(await read(text, {}, [...Buffer.from(text).keys()])).toEqual(whole)
  })

  it('may begin with a byte-order mark', async () => {
    expect(await read('\uFEFF{}')).toMatchObject({ ok: true })
  })

  it('may have __proto__ as a member like any other', async () => {
    const result = await read('{"__proto__":{"x":1}}')
    if (!result.ok) throw new Error('refused')
    expect(Object.keys(result.value.document ?? {})).toEqual(['__proto__'])
    expect(Reflect.getPrototypeOf(Object(result.value.document))).toBe(Object.prototype)
  })

  it('may be a number or literal that only the end of the text completes', async () => {
    expect(await read('12')).toMatchObject({ ok: true, value: { document: 12 } })
    expect(await read('null')).toMatchObject({ ok: true, value: { document: null } })
  })
})

describe('a refused JSON document', () => {
  it.each([
    ['nothing', '', 'empty'],
    ['only blanks', ' \n\t', 'empty'],
    ['an unclosed object', '{"a":1', 'syntax'],
    ['an unclosed string', '{"a":"x', 'syntax'],
    ['text after the document', '{} x', 'syntax'],
    ['a second document', '{}{}', 'syntax'],
    ['a trailing comma', '{"a":1,}', 'syntax'],
    ['single quotes', "{'a':1}", 'syntax'],
    ['a comment', '{/**/}', 'syntax'],
    ['a leading zero', '[01]', 'syntax'],
    ['a half literal', '[tru]', 'syntax'],
    ['NaN', '[NaN]', 'syntax'],
    ['a raw control character', '["\u0001"]', 'syntax'],
    ['an unknown escape', '["\\x41"]', 'syntax'],
    ['brackets that do not match', '[1}', 'syntax'],
  ])('names %s', async (_what, text, tag) => {
    expect((await failureOf(text)).tag).toBe(tag)
  })

  it('names bytes that are not UTF-8, also cut off in the last character', async () => {
    expect(await failureOf(Buffer.from([0x22, 0xff, 0x22]))).toEqual({ tag: 'invalid_utf8' })
    expect(await failureOf(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]))).toEqual({
      tag: 'invalid_utf8',
    })
    expect(await failureOf(Buffer.from([0x31, 0xe2, 0x82]))).toEqual({ tag: 'invalid_utf8' })
  })

  it('names the second of two equal keys, written plainly or escaped', async () => {
    const failure = { tag: 'duplicate_key', path: ['a', 0, 'b'] }
    expect(await failureOf('{"a":[{"b":1,"\\u0062":2}]}')).toEqual(failure)
    expect(await failureOf('{"__proto__":1,"__proto__":2}')).toEqual({
      tag: 'duplicate_key',
      path: ['__proto__'],
    })
  })

  it('is accepted with the last of equal keys when the caller says so', async () => {
    const text = '{"a":{"b":1},"__proto__":1,"a":{"c":2},"__proto__":2}'
    const result = await read(text, { equalKeys: 'last' })
    expect(JSON.stringify(result)).toContain('"document":{"a":{"c":2},"__proto__":2}')
  })

  it.each([
    ['NUL', '["\\u0000"]', [0]],
    ['a lone high surrogate', '{"a":"\\ud800"}', ['a']],
    ['a lone low surrogate', '{"a":"x\\udc00y"}', ['a']],
    ['a pair in the wrong order', '{"a":"\\ude00\\ud83d"}', ['a']],
    ['NUL in a key', '{"a":{"\\u0000":1}}', ['a']],
  ])('names the path of text with %s', async (_what, text, path) => {
    expect(await failureOf(text)).toEqual({ tag: 'unstorable_text', path })
  })

  it('is accepted with unstorable text replaced when the caller says so', async () => {
    const result = await read('["a\\u0000\\ud800"]', { unstorableText: 'replace' })
    expect(result).toMatchObject({ ok: true, value: { document: ['a\uFFFD\uFFFD'] } })
  })

  it('names a number that a double cannot hold', async () => {
    expect(await failureOf('{"a":1e999}')).toEqual({ tag: 'number_out_of_range', path: ['a'] })
  })

  it('is refused only above the limits of depth, tokens and text', async () => {
    expect(await read('[[[1]]]', { depthMax: 3 })).toMatchObject({ ok: true })
    expect(await failureOf('[[[1]]]', { depthMax: 2 })).toEqual({ tag: 'too_deep' })
    expect(await read('[1,2]', { tokensMax: 3 })).toMatchObject({ ok: true })
    expect(await failureOf('[1,2]', { tokensMax: 2 })).toEqual({ tag: 'too_many_tokens' })
    expect(await failureOf('{"a":1}', { tokensMax: 2 })).toEqual({ tag: 'too_many_tokens' })
    expect(await read('{"a":"é"}', { textBytesMax: 3 })).toMatchObject({ ok: true })
    const tooLong = { tag: 'text_too_long', limitBytes: 2 }
    expect(await failureOf('{"a":"é"}', { textBytesMax: 2 })).toEqual(tooLong)
    expect(await failureOf('{"abc":1}', { textBytesMax: 2 })).toEqual(tooLong)
    expect(await failureOf('[1234]', { textBytesMax: 2 })).toEqual(tooLong)
  })
})

describe('a diverted string', () => {
  const bytes = (count: number) => `"data":"${Buffer.alloc(count, 7).toString('base64')}"`

  it('is taken at any depth, in document order', async () => {
    const text = `{"x":[{"data":"QQ==","t":"a"},{"t":"b","data":""}],"data":5}`
    expect(await read(text)).toEqual({
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
    expect(await read(`{${bytes(900)}}`, { textBytesMax: 4 })).toMatchObject({ ok: true })
  })

  it('that is not strict base64 is named by its path', async () => {
    const failure = { tag: 'invalid_base64', path: [1, 'data'] }
    expect(await failureOf('[0,{"data":"QQ"}]')).toEqual(failure)
    expect(await failureOf('[0,{"data":"QQ==\\n"}]')).toEqual(failure)
    expect(await failureOf('[0,{"data":"\\u0000"}]')).toEqual(failure)
  })

  it('is refused only above the limits of one string, of all strings and of their number', async () => {
    expect(await read(`{${bytes(1000)}}`)).toMatchObject({ ok: true })
    expect(await failureOf(`{${bytes(1001)}}`)).toEqual({
      tag: 'diverted_too_large',
      path: ['data'],
      limitBytes: 1000,
    })
    expect(await read(`[{${bytes(1000)}},{${bytes(500)}}]`)).toMatchObject({ ok: true })
    expect(await failureOf(`[{${bytes(1000)}},{${bytes(501)}}]`)).toEqual({
      tag: 'diverted_total_too_large',
      path: [1, 'data'],
      limitBytes: 1500,
    })
    expect(await failureOf('[{"data":""},{"data":""},{"data":""},{"data":""}]')).toEqual({
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
      ...options,
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
    const failure = await failureOf('{"data":"QUJD*', {
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
    await expect(read(text, { ...large, take })).rejects.toThrow('disk full')
    async function* cut(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(text.slice(0, 70_000))
      await Promise.resolve()
      throw new Error('connection lost')
    }
    await expect(readJsonDocument(cut(), { ...options, ...large })).rejects.toThrow('lost')
  })

  it('may be left by its reader after the first bytes', async () => {
    const text = `{"data":"${'QUJD'.repeat(100_000)}","a":1}`
    const large = { divertedBytesMax: 1e9, divertedTotalBytesMax: 1e9 }
    const take = async (content: AsyncIterable<Uint8Array>) => {
      for await (const piece of content) return String(piece.length > 0)
      return 'nothing'
    }
    const result = await read(text, { ...large, take })
    expect(result).toMatchObject({ ok: true, value: { diverted: [{ value: 'true' }] } })
  })

  it('may be left unread by `take`', async () => {
    const text = `{"data":"${'QUJD'.repeat(100)}","a":1}`
    const result = await read(text, { take: async () => 'unread' })
    expect(result).toMatchObject({ ok: true, value: { document: { a: 1, data: '' } } })
  })
})

describe('the bytes of a text', () => {
  it('are those that JSON writes, also for each character alone', () => {
    const wrong = Array.from({ length: 0x10000 }, (_, unit) => unit).filter((unit) => {
      const character = String.fromCharCode(unit)
      const bytes = Buffer.byteLength(JSON.stringify(character.toWellFormed())) - 2
      return jsonTextBytes(character) !== bytes || jsonTextBytes(`a${character}`) !== bytes + 1
    })
    expect(wrong).toEqual([])
    expect(jsonTextBytes('\u0001"é😀')).toBe(6 + 2 + 2 + 4)
  })
})
