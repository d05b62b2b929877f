import { describe, expect, it } from 'vitest'
import { upstreamAnswerTextBytesMax, upstreamAnswerValuesMax } from '../../src/domain/limits.ts'
import { decodeLenientBase64 } from '../../src/bytes/base64.ts'
import { readLenientJson } from '../../src/bytes/readJson.ts'

/** Reads the text of an answer whose strings at `data` are images. Returns the document, and each image as text. */
async function read(text: string | Buffer) {
  const result = readLenientJson(Buffer.from(text), (path) => path.at(-1) === 'data')
  if (!result.ok) return JSON.stringify(result.failure)
  const { document, images } = result.value
  const decoded = images.map(async ({ path, sent }) => [
    path.join('.'),
    (await decodeLenientBase64(sent, 1e9))?.toString(),
  ])
  return { document, images: await Promise.all(decoded) }
}

describe('the JSON of an answer that we pay for', () => {
  it.each([
    ['{"data":"QUJDRA=="}\r\n', 'white space'],
    ['{"data":"QUJDRA=="}{"data":"QQ=="}', 'another document'],
    ['{"data":"QUJDRA=="}]}"', 'what is not JSON'],
    [`{"data":"QUJDRA=="}${'\0'.repeat(upstreamAnswerTextBytesMax)}`, 'millions of zeros'],
  ])('is read up to its end: %.30s has %s behind it', async (text) => {
    expect(await read(text)).toEqual({ document: { data: '' }, images: [['data', 'ABCD']] })
  })

  it('has the last of equal keys, and only the image of the last', async () => {
    const text = '{"a":{"b":1},"__proto__":1,"data":"*","a":{"c":2},"__proto__":2,"data":"QUJD"}'
    const result = await read(text)
    expect(JSON.stringify(result)).toBe(
      '{"document":{"a":{"c":2},"__proto__":2,"data":""},"images":[["data","ABC"]]}',
    )
  })

  it('has what cannot be stored replaced, in texts, keys and numbers', async () => {
    const text = Buffer.from('{"a\\u0000":["x\\ud800","\xff",1e999]}', 'latin1')
    expect(await read(text)).toEqual({
      document: { 'a\uFFFD': ['x\uFFFD', '\uFFFD', null] },
      images: [],
    })
  })

  it.each(['no image today!', 'QUJD\\"', 'QUJD\\\\', '\\ud800', '\\x', 'é'])(
    'keeps the rest when an image is broken: %s',
    async (data) => {
      expect(await read(`{"data":"${data}","a":1}`)).toMatchObject({ document: { data: '', a: 1 } })
    },
  )

  it.each([
    'QUJD\\nRA==',
    'QUJD\nRA==',
    'QUJDRA',
    '*QUJD*RA==',
    'data:image/png;base64,QUJDRA==',
    'data:image\\/png;charset=utf-8;base64,QUJDRA',
    '\\n data:;base64,QUJDRA==',
  ])('has images in any base64: %s', async (data) => {
    expect(await read(`{"data":"${data}"}`)).toHaveProperty('images', [['data', 'ABCD']])
  })

  it('has null where a number is none, as Python writes it', async () => {
    const read = readLenientJson(Buffer.from('{"a":NaN,"b":[Infinity,-Infinity,NaN ],"c":1}'))
    expect(read).toHaveProperty('value.document', { a: null, b: [null, null, null], c: 1 })
    for (const text of ['{"a":nothing}', '{"a":NaNs}', '{"a":-}']) {
      expect(readLenientJson(Buffer.from(text)).ok).toBe(false)
    }
  })

  it.each([
    ['', 'is empty'],
    ['<html></html>', 'is not valid JSON'],
    ['{"data":"QUJD"', 'is not valid JSON'],
    ['['.repeat(65), 'is nested too deeply'],
    [`[${'1,'.repeat(upstreamAnswerValuesMax)}1]`, 'has too many values'],
    [`["${'x'.repeat(upstreamAnswerTextBytesMax)}"]`, 'body_too_large'],
  ])('is refused when there is no document in it: %.20s', async (text, why) => {
    expect(await read(text)).toContain(why)
  })

  it('may have any number of images, and one that is larger than all texts may be', async () => {
    const large = 'x'.repeat(upstreamAnswerTextBytesMax + 1)
    const images = [...Array<string>(40).fill('ABC'), large]
    const text = JSON.stringify(
      images.map((image) => ({ data: Buffer.from(image).toString('base64') })),
    )
    const result = await read(text)
    expect(result).toMatchObject({ images: images.map((image, at) => [`${at}.data`, image]) })
  })
})
