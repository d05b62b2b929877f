import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { jsonTextBytes } from '../../src/streams/json/documentBuilder.ts'
import { documentFailure, readDocument } from '../support/testDocuments.ts'

describe('a JSON document', () => {
  it('is read as JSON.parse reads it, however its bytes are cut', async () => {
    // Texts with \u escapes may be unstorable. Those have their own tests below.
    const texts = fc.json({ maxDepth: 3 }).filter((text) => !text.includes('\\u'))
    const cuts = fc.array(fc.nat(200), { maxLength: 20 })
    await fc.assert(
      fc.asyncProperty(texts, cuts, async (text, cuts) => {
        const result = await readDocument(text, { divert: () => false, depthMax: 32 }, cuts)
        expect(result.ok && JSON.stringify(result.value.document)).toBe(
          JSON.stringify(JSON.parse(text)),
        )
      }),
      { numRuns: 300 },
    )
  })

  it('is read the same when cut between any two bytes', async () => {
    const text = '{"é":[1.5e-3,-0,true,null,"\\ud83d\\ude00😀\\/"],"data":"QUJD\\/\\u002b8="}'
    const whole = await readDocument(text)
    expect(whole).toEqual({
      ok: true,
      value: {
        document: { é: [0.0015, -0, true, null, '😀😀/'], data: '' },
        diverted: [{ path: ['data'], value: '414243ffef' }],
      },
    })
    for (let cut = 1; cut < Buffer.byteLength(text); cut++) {
      expect(await readDocument(text, {}, [cut])).toEqual(whole)
    }
    expect(await readDocument(text, {}, [...Buffer.from(text).keys()])).toEqual(whole)
  })

  it('may begin with a byte-order mark', async () => {
    expect(await readDocument('\uFEFF{}')).toMatchObject({ ok: true })
  })

  it('may have __proto__ as a member like any other', async () => {
    const result = await readDocument('{"__proto__":{"x":1}}')
    if (!result.ok) throw new Error('refused')
    expect(Object.keys(result.value.document ?? {})).toEqual(['__proto__'])
    expect(Reflect.getPrototypeOf(Object(result.value.document))).toBe(Object.prototype)
  })

  it('may be a number or literal that only the end of the text completes', async () => {
    expect(await readDocument('12')).toMatchObject({ ok: true, value: { document: 12 } })
    expect(await readDocument('null')).toMatchObject({ ok: true, value: { document: null } })
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
    expect((await documentFailure(text)).tag).toBe(tag)
  })

  it('names bytes that are not UTF-8, also cut off in the last character', async () => {
    expect(await documentFailure(Buffer.from([0x22, 0xff, 0x22]))).toEqual({ tag: 'invalid_utf8' })
    expect(await documentFailure(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]))).toEqual({
      tag: 'invalid_utf8',
    })
    expect(await documentFailure(Buffer.from([0x31, 0xe2, 0x82]))).toEqual({ tag: 'invalid_utf8' })
  })

  it('names the second of two equal keys, written plainly or escaped', async () => {
    const failure = { tag: 'duplicate_key', path: ['a', 0, 'b'] }
    expect(await documentFailure('{"a":[{"b":1,"\\u0062":2}]}')).toEqual(failure)
    expect(await documentFailure('{"__proto__":1,"__proto__":2}')).toEqual({
      tag: 'duplicate_key',
      path: ['__proto__'],
    })
  })

  it('is accepted with the last of equal keys when the caller says so', async () => {
    const text = '{"a":{"b":1},"__proto__":1,"a":{"c":2},"__proto__":2}'
    const result = await readDocument(text, { equalKeys: 'last' })
    expect(JSON.stringify(result)).toContain('"document":{"a":{"c":2},"__proto__":2}')
  })

  it.each([
    ['NUL', '["\\u0000"]', [0]],
    ['a lone high surrogate', '{"a":"\\ud800"}', ['a']],
    ['a lone low surrogate', '{"a":"x\\udc00y"}', ['a']],
    ['a pair in the wrong order', '{"a":"\\ude00\\ud83d"}', ['a']],
    ['NUL in a key', '{"a":{"\\u0000":1}}', ['a']],
  ])('names the path of text with %s', async (_what, text, path) => {
    expect(await documentFailure(text)).toEqual({ tag: 'unstorable_text', path })
  })

  it('is accepted with unstorable text replaced when the caller says so', async () => {
    const result = await readDocument('["a\\u0000\\ud800"]', { unstorableText: 'replace' })
    expect(result).toMatchObject({ ok: true, value: { document: ['a\uFFFD\uFFFD'] } })
  })

  it('names a number that a double cannot hold', async () => {
    expect(await documentFailure('{"a":1e999}')).toEqual({
      tag: 'number_out_of_range',
      path: ['a'],
    })
  })

  it('is refused only above the limits of depth, tokens and text', async () => {
    expect(await readDocument('[[[1]]]', { depthMax: 3 })).toMatchObject({ ok: true })
    expect(await documentFailure('[[[1]]]', { depthMax: 2 })).toEqual({ tag: 'too_deep' })
    expect(await readDocument('[1,2]', { tokensMax: 3 })).toMatchObject({ ok: true })
    expect(await documentFailure('[1,2]', { tokensMax: 2 })).toEqual({ tag: 'too_many_tokens' })
    expect(await documentFailure('{"a":1}', { tokensMax: 2 })).toEqual({ tag: 'too_many_tokens' })
    expect(await readDocument('{"a":"é"}', { textBytesMax: 3 })).toMatchObject({ ok: true })
    const tooLong = { tag: 'text_too_long', limitBytes: 2 }
    expect(await documentFailure('{"a":"é"}', { textBytesMax: 2 })).toEqual(tooLong)
    expect(await documentFailure('{"abc":1}', { textBytesMax: 2 })).toEqual(tooLong)
    expect(await documentFailure('[1234]', { textBytesMax: 2 })).toEqual(tooLong)
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
