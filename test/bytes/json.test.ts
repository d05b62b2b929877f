import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Base64Alphabet } from '../../src/bytes/base64.ts'
import type { JsonPath } from '../../src/domain/json.ts'
import { parsed } from '../../src/domain/json.ts'
import { readJson } from '../../src/bytes/readJson.ts'

const isImage = (path: JsonPath) => path.at(-1) === 'data'
const base64 = (content: string | Buffer) => Buffer.from(content).toString('base64')

const isNotJson = 'The request body is not valid JSON.'

/** Reads a text whose strings at `data` are images. */
function read(text: string | Buffer, alphabet: Base64Alphabet = 'standard') {
  return readJson(Buffer.from(text), { isImage, alphabet })
}

/** Returns code, field and message of a refusal. */
async function failureOf(text: string | Buffer, alphabet?: Base64Alphabet) {
  const result = await read(text, alphabet)
  if (result.ok) return ['accepted']
  const { failure } = result
  return failure.tag === 'invalid_request'
    ? [failure.code, failure.param, failure.message]
    : [failure.tag]
}

/** Returns the document of a text, and its images as texts. */
async function valueOf(text: string | Buffer, alphabet?: Base64Alphabet) {
  const result = await read(text, alphabet)
  if (!result.ok) throw new Error(JSON.stringify(result.failure))
  const { document, images } = result.value
  return { document, images: images.map(({ path, bytes }) => [path.join('.'), bytes.toString()]) }
}

/** Writes two letters in every string as escapes. */
function withEscapes(text: string): string {
  return text.replaceAll(/"(?:[^"\\]|\\.)*"/g, (string) =>
    string.replaceAll('a', '\\u0061').replaceAll('/', '\\/'),
  )
}

describe('a JSON document', () => {
  it('has its images cut out, in its order, at any depth and of any length', async () => {
    const long = 'an image '.repeat(200_000)
    const text = `{"schön":[{"data":"${base64(long)}","t":"a"},{"data":"","x":{}}],"data":5,"é":{"data":"QQ=="}}`
    expect(await valueOf(text)).toEqual({
      document: {
        schön: [
          { data: '', t: 'a' },
          { data: '', x: {} },
        ],
        data: 5,
        é: { data: '' },
      },
      images: [
        ['schön.0.data', long],
        ['schön.1.data', ''],
        ['é.data', 'A'],
      ],
    })
  })

  it('is read as JSON.parse reads it, and its images as Buffer decodes them', async () => {
    const letters = fc.constantFrom('a', 'é', '😀', '"', '\\', '/', '\n', '\u2028', '{', ',', ':')
    const text = fc.string({ unit: letters, maxLength: 9 })
    const key = fc.constantFrom('a', 'data', '__proto__', 'x', 'é', '😀', '/', '')
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.oneof(text, fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean()),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(key, tie('value'), { maxKeys: 4, noNullPrototype: true }),
        fc.record({ data: fc.uint8Array({ maxLength: 20 }).map((b) => base64(Buffer.from(b))) }),
      ),
    }))
    let images = 0
    await fc.assert(
      fc.asyncProperty(value, fc.nat(3), fc.boolean(), async (value, indent, escape) => {
        const sent = JSON.stringify(value, null, indent)
        const result = await read(escape ? withEscapes(sent) : sent)
        const expected: string[] = []
        const document: unknown = JSON.parse(sent, (key, member: unknown) => {
          if (key !== 'data' || typeof member !== 'string') return member
          expected.push(member)
          return ''
        })
        const isStrict = expected.every((text) => base64(Buffer.from(text, 'base64')) === text)
        images += isStrict ? expected.length : 0
        const found = result.ok ? result.value.images.map(({ bytes }) => base64(bytes)) : []
        expect(result.ok).toBe(isStrict)
        expect(found.toSorted()).toEqual(isStrict ? expected.toSorted() : [])
        const got = result.ok ? result.value.document : document
        expect(JSON.stringify(got)).toBe(JSON.stringify(document))
      }),
      { numRuns: 3_000 },
    )
    expect(images).toBeGreaterThan(500)
  })

  it('may have __proto__ as a member like any other', async () => {
    const { document } = await valueOf('{"__proto__":{"x":1},"a":{"__proto__":{"data":"QQ=="}}}')
    expect(JSON.stringify(document)).toBe('{"__proto__":{"x":1},"a":{"__proto__":{"data":""}}}')
    expect(Reflect.getPrototypeOf(Object(document))).toBe(Object.prototype)
  })

  it.each([
    ['ab', String.raw`a\u0062`],
    ['a', String.raw`\u0061`],
    ['/', String.raw`\/`],
  ])(
    'has a key like %s also with escapes, after another one with a backslash',
    async (key, sent) => {
      const poison = sent.slice(0, key.length).replace('\\', '\\\\')
      JSON.parse(`{"before ${key}":1,"${poison}":2}`)
      const { document } = await valueOf(`{"before ${key}":1,"${sent}":2}`)
      expect(Object.keys(Object(document))).toEqual([`before ${key}`, key])
    },
  )
})

describe('a JSON document is refused', () => {
  it('exactly where JSON.parse refuses it, wherever a letter is put in, replaced or taken away', async () => {
    const text = '{"a":[1,"x\\n",true,null,-2.5e3],"b":{"c":[]}}'
    const letters = ['', ...'"\\{}[],:0.-e tu\n\u0001\u00a0'.split('')]
    for (const at of text.split('').keys()) {
      for (const changed of letters.flatMap((letter) =>
        [at, at + 1].map((rest) => text.slice(0, at) + letter + text.slice(rest)),
      )) {
        const found =
          parsed(changed) === undefined ? ['invalid_json', null, isNotJson] : ['accepted']
        expect([changed, await failureOf(changed)]).toEqual([changed, found])
      }
    }
  })

  it.each([
    ['nothing', '', 'The request body is empty.'],
    ['a byte-order mark', '\uFEFF', 'The request body is empty.'],
    ['two byte-order marks', '\uFEFF\uFEFF{}', isNotJson],
    ['an unclosed image', '{"data":"QUJD', isNotJson],
    ['an image behind a string', '{"data":"QUJD""QUJD"}', isNotJson],
  ])('that is %s', async (_what, text, why) => {
    expect(await failureOf(text)).toEqual(['invalid_json', null, why])
  })

  it.each(['22ff22', '22eda08022', '31e282', '22c080', '7b2264617461223a22ff227d'])(
    'that is not UTF-8: %s',
    async (hex) => {
      expect(String(await failureOf(Buffer.from(hex, 'hex')))).toContain('is not valid UTF-8')
    },
  )

  it.each([
    ['{"a":[{"b":1,"\\u0062":2}]}', 'invalid_json', 'a[0].b'],
    ['{"__proto__":1,"__proto__":2}', 'invalid_json', '__proto__'],
    ['{"a":1,"b":{"a":1},"a":1}', 'invalid_json', 'a'],
    ['{"data":"QUJD","data":"QUJD"}', 'invalid_json', 'data'],
    [`{"${'k'.repeat(9_000)}":1,"${'k'.repeat(9_000)}":2}`, 'invalid_json', `${'k'.repeat(200)}…`],
    ['["\\u0000"]', 'invalid_value', '[0]'],
    ['{"a":"x\\udc00y"}', 'invalid_value', 'a'],
    ['{"a":"\\ude00\\ud83d"}', 'invalid_value', 'a'],
    ['{"a":{"\\u0000":1}}', 'invalid_value', 'a'],
    ['{"a":1e999}', 'invalid_value', 'a'],
    ['[0,{"data":"QQ"}]', 'invalid_image', '[1].data'],
    ['{"data":"QUJD\\"QUJD"}', 'invalid_image', 'data'],
    ['{"data":"QUJD\nQUJD"}', 'invalid_image', 'data'],
    ['{"data":"\\x41QUJD"}', 'invalid_image', 'data'],
    ['{"data":"QUJD\\u00"}', 'invalid_image', 'data'],
    ['{"data":"QUJD\\\\"}', 'invalid_image', 'data'],
  ])('for a value that it names: %s is %s', async (text, code, param) => {
    expect((await failureOf(text)).slice(0, 2)).toEqual([code, param])
  })

  it('for an image that mixes both alphabets, where either is allowed', async () => {
    expect(await valueOf('{"data":"_-8="}', 'either')).toMatchObject({ document: { data: '' } })
    expect((await failureOf('{"data":"_/8="}', 'either'))[0]).toBe('invalid_image')
  })
})
