import { expect, it } from 'vitest'
import type { FormParameter } from '../../src/schema/assetForm.ts'
import { readAssetForm } from '../../src/schema/assetForm.ts'

const widths = ['128', '256', '512', '1024'].map((width): FormParameter => ['width', width])
const formats = ['png', 'jpeg', 'webp'].map((format): FormParameter => ['format', format])
const original: FormParameter = ['original', 'true']
const wrong: readonly FormParameter[] = [
  ['width', '0128'],
  ['width', '2048'],
  ['width', ''],
  ['format', 'gif'],
  ['format', 'PNG'],
  ['original', 'false'],
  ['original', ''],
]
const known = [...widths, ...formats, original]

/** The whole contract. */
const allowed: readonly (readonly FormParameter[])[] = [
  [],
  [original],
  ...widths.map((width) => [width]),
  ...formats.map((format) => [format]),
  ...widths.flatMap((width) => formats.map((format) => [width, format])),
]
const texts = new Set(allowed.map(String))

/** The name of the first parameter with which no allowed address begins like the given one. */
function firstWrong(given: readonly FormParameter[]): string | undefined {
  const at = given.findIndex((_parameter, index) => !texts.has(String(given.slice(0, index + 1))))
  return given[at]?.[0]
}

it('an address takes a width, a format, both in this order, or the original alone, and names the first parameter that is wrong [asset-6]', () => {
  const any = [...known, ...wrong]
  const pairs = any.flatMap((one) => any.map((other) => [one, other]))
  const triples = pairs.flatMap((pair) => known.map((third) => [...pair, third]))
  for (const given of [[], ...any.map((one) => [one]), ...pairs, ...triples]) {
    const read = readAssetForm(given, 'image/jpeg')
    const param = read.ok || read.failure.tag !== 'invalid_request' ? undefined : read.failure.param
    expect([String(given), read.ok, param]).toEqual([
      String(given),
      texts.has(String(given)),
      firstWrong(given),
    ])
  }
})

it('a variant has the format of its image unless it asks for another', () => {
  const read = (...given: FormParameter[]) => readAssetForm(given, 'image/jpeg')
  expect(read(['width', '512'])).toMatchObject({ value: { width: 512, mimeType: 'image/jpeg' } })
  expect(read(['format', 'png'])).toEqual({ ok: true, value: { mimeType: 'image/png' } })
})
