import { expect, it } from 'vitest'
import { storedResponseBytesMax } from '../../../src/domain/limits.ts'
import { fittedResponse, splitAtImage } from '../../../src/domain/upstream/nativeResponse.ts'

const mebibyte = 1024 * 1024
const bytesOf = (value: object) => Buffer.byteLength(JSON.stringify(value))

/** A response whose parts have texts of these lengths. The image stands behind them. */
function responseOf(...lengths: readonly number[]) {
  const parts = lengths.map((length) => ({ thought: true, text: 'x'.repeat(length) }))
  const content = { parts: [...parts, { inlineData: { mimeType: 'image/png', data: '' } }] }
  return { candidates: [{ content }], modelVersion: 'familya-3-pro-image' }
}

it('a response that can be stored stays as it is', () => {
  const response = responseOf(storedResponseBytesMax - 200)
  const fitted = fittedResponse(response)
  expect(fitted.leftOutBytes).toBe(0)
  expect(fitted.response).toBe(response)
})

it('of a response that is too long for its row the longest texts are left out, and nothing else', () => {
  const long = responseOf(5 * mebibyte, 3 * mebibyte, 10)
  const { response, leftOutBytes } = fittedResponse(long)
  const parts = long.candidates.flatMap(({ content }) => content.parts)
  const kept = [{ thought: true }, ...parts.slice(1)]
  const expected = { ...long, candidates: [{ content: { parts: kept } }] }
  // A difference of megabytes is not printed.
  expect(JSON.stringify(response) === JSON.stringify(expected)).toBe(true)
  expect(leftOutBytes).toBe(bytesOf(long) - bytesOf(response))
})

it('a response of many long texts fits its row, with the image in its place', () => {
  const many = responseOf(...Array<number>(40_000).fill(700))
  const { response } = fittedResponse({ ...many, names: ['é'.repeat(5 * mebibyte), 'short'] })
  expect(bytesOf(response)).toBeLessThanOrEqual(storedResponseBytesMax)
  expect(JSON.stringify(response['names'])).toBe('[null,"short"]')
  const place = ['candidates', 0, 'content', 'parts', 40_000, 'inlineData', 'data']
  expect(splitAtImage({ response, imagePath: place }).after.length).toBeGreaterThan(0)
})
