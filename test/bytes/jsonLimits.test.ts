import { expect, it } from 'vitest'
import {
  inputImageBytesMax,
  inputImagesBytesMax,
  inputImagesMax,
  jsonDepthMax,
  jsonValuesMax,
  requestBesidesImagesBytesMax,
  requestTextBytesMax,
} from '../../src/domain/limits.ts'
import { readJson } from '../../src/bytes/readJson.ts'

const [one, all] = [inputImageBytesMax, inputImagesBytesMax]
const [besides, texts] = [requestBesidesImagesBytesMax, requestTextBytesMax]
const items = (count: number, item: string) => `[${Array(count).fill(item).join(',')}]`
const images = (...sizes: readonly number[]) =>
  JSON.stringify(sizes.map((bytes) => ({ data: Buffer.alloc(bytes).toString('base64') })))
const small = images(...Array<number>(inputImagesMax).fill(1))
const blanksIn = (text: string, count: number) => text.replace(']', `${' '.repeat(count)}]`)
const brackets = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
const keyed = (textBytes: number) => `{"${'\\u0041'.repeat(9)}":"${'x'.repeat(textBytes - 9)}"}`
const pairs = items((jsonValuesMax - 2) / 2, '{"key":""}')

const invalid = (code: string, param: string | null, message: string) => ({
  tag: 'invalid_request',
  code,
  param,
  message,
})
const tooDeep = invalid('invalid_json', null, 'The request body is nested too deeply.')
const tooMany = invalid('invalid_json', null, 'The request body has too many values.')
const tooLong = (limitBytes: number) => ({ tag: 'body_too_large', limitBytes, texts: true })
const badImage = (param: string, why: string) =>
  invalid('invalid_image', param, `Invalid image in '${param}': ${why}.`)
const tooLarge = (param: string) => badImage(param, `it is larger than ${one} bytes`)

it.each([
  ['arrays of the largest depth', brackets(jsonDepthMax), 'ok'],
  ['deeper arrays', brackets(jsonDepthMax + 1), tooDeep],
  ['as many numbers as allowed', items(jsonValuesMax - 1, '1'), 'ok'],
  ['more numbers', items(jsonValuesMax, '1'), tooMany],
  ['as many objects as allowed', items(jsonValuesMax - 1, '{ }'), 'ok'],
  ['more arrays', items(jsonValuesMax, '[]'), tooMany],
  ['as many members as allowed, whose keys do not count', pairs.replace(']', ',0]'), 'ok'],
  ['more members', pairs.replace(']', ',0,0]'), tooMany],
  ['the longest text', `["${'x'.repeat(texts)}"]`, 'ok'],
  ['a longer text in UTF-8', `["${'x'.repeat(texts - 1)}é"]`, tooLong(texts)],
  ['the longest texts and keys, without escapes', keyed(texts), 'ok'],
  ['longer texts and keys', keyed(texts + 1), tooLong(texts)],
  ['as many blanks as allowed', blanksIn('[1]', besides - 3), 'ok'],
  ['more blanks', blanksIn('[1]', besides - 2), tooLong(besides)],
  ['as many blanks as allowed beside an image', blanksIn(images(one), besides - 13), 'ok'],
  ['more blanks beside an image', blanksIn(images(one), besides - 12), tooLong(besides)],
  ['more escapes', `["${'\\u0041'.repeat(besides / 6)}"]`, tooLong(besides)],
  ['as many images as allowed', small, 'ok'],
  [
    'more images, of which none is decoded',
    small.replace('AA==', '*').replace(']', ',{"data":""}]'),
    invalid('invalid_value', '[16]', "Invalid value for '[16]': at most 16 images."),
  ],
  ['the largest image', images(1, one), 'ok'],
  ['a larger image', images(1, one + 1), tooLarge('[1].data')],
  [
    'a larger image with an escape',
    images(one + 1).replace('AA', '\\u0041A'),
    tooLarge('[0].data'),
  ],
  ['images of the largest size together', images(one, one, one, all - 3 * one), 'ok'],
  [
    'one byte more in another image',
    images(one, one, one, all - 3 * one, 1),
    badImage('[4]', `together they are larger than ${all} bytes`),
  ],
])('the limits of a JSON document are exact: %s', async (_what, text, expected) => {
  const isImage = (path: readonly (string | number)[]) => path.at(-1) === 'data'
  const result = await readJson(Buffer.from(text), { isImage, alphabet: 'standard' })
  expect(result.ok ? 'ok' : result.failure).toEqual(expected)
})
