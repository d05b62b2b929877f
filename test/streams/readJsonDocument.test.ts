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

  it.each(['22ff22', '22eda08022', '31e282'])('names bytes that are not UTF-8: %s', async (hex) => {
    expect(await documentFailure(Buffer.from(hex, 'hex'))).toEqual({ tag: 'invalid_utf8' })
  })

  it.each([
    ['{"a":[{"b":1,"\\u0062":2}]}', 'duplicate_key', ['a', 0, 'b']],
    ['{"__proto__":1,"__proto__":2}', 'duplicate_key', ['__proto__']],
    ['["\\u0000"]', 'unstorable_text', [0]],
    ['{"a":"\\ud800"}', 'unstorable_text', ['a']],
    ['{"a":"x\\udc00y"}', 'unstorable_text', ['a']],
    ['{"a":"\\ude00\\ud83d"}', 'unstorable_text', ['a']],
    ['{"a":{"\\u0000":1}}', 'unstorable_text', ['a']],
    ['{"a":1e999}', 'number_out_of_range', ['a']],
  ])('names the field in %s: %s', async (text, tag, path) => {
    expect(await documentFailure(text)).toEqual({ tag, path })
  })

  it('is accepted with the last of equal keys when the caller says so', async () => {
    const text = '{"a":{"b":1},"__proto__":1,"a":{"c":2},"__proto__":2}'
    const result = await readDocument(text, { equalKeys: 'last' })
    expect(JSON.stringify(result)).toContain('"document":{"a":{"c":2},"__proto__":2}')
  })

  it('is accepted with unstorable text replaced when the caller says so', async () => {
    const result = await readDocument('["a\\u0000\\ud800"]', { unstorableText: 'replace' })
    expect(result).toMatchObject({ ok: true, value: { document: ['a\uFFFD\uFFFD'] } })
  })

  it.each([
    ['[[[1]]]', 'depthMax', 3, { tag: 'too_deep' }],
    ['[1,2]', 'tokensMax', 3, { tag: 'too_many_tokens' }],
    ['{"a":1}', 'tokensMax', 3, { tag: 'too_many_tokens' }],
    ['{"a":"é"}', 'textBytesMax', 3, { tag: 'text_too_long', limitBytes: 2 }],
    ['{"abc":0}', 'textBytesMax', 4, { tag: 'text_too_long', limitBytes: 3 }],
    ['[123]', 'textBytesMax', 3, { tag: 'text_too_long', limitBytes: 2 }],
  ])('is refused only above its limits: %s, %s', async (text, option, limit, failure) => {
    expect(await readDocument(text, { [option]: limit })).toMatchObject({ ok: true })
    expect(await documentFailure(text, { [option]: limit - 1 })).toEqual(failure)
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
