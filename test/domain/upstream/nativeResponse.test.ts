import { describe, expect, it } from 'vitest'
import type { NativeResponse } from '../../../src/domain/upstream/nativeResponse.ts'
import { splitAtImage } from '../../../src/domain/upstream/nativeResponse.ts'

const familyA: NativeResponse = {
  response: {
    candidates: [
      { content: { parts: [{ text: 'here' }, { inlineData: { data: '' }, thought: 'x' }] } },
    ],
    modelVersion: 'familya-3-pro-image',
  },
  imagePath: ['candidates', 0, 'content', 'parts', 1, 'inlineData', 'data'],
}
const familyB: NativeResponse = {
  response: { created: 5, data: [{ b64_json: '' }], size: '1024x1024' },
  imagePath: ['data', 0, 'b64_json'],
}

describe('the native response around its image', () => {
  it.each([
    ['A', familyA],
    ['B', familyB],
  ])('is the same JSON with the image between its two parts, family %s', (_family, native) => {
    const { before, after } = splitAtImage(native)
    expect(`${before}${after}`).toBe(JSON.stringify(native.response))
    const whole: unknown = JSON.parse(`${before}QUJD${after}`)
    const found = native.imagePath.reduce<unknown>(
      (value, step) => Reflect.get(Object(value), step),
      whole,
    )
    expect(found).toBe('QUJD')
  })

  it('is not split at a text that looks like the image', () => {
    const prompt = '"b64_json":"",\\ud800'
    const tricky = { ...familyB, response: { prompt, data: [{ b64_json: '' }] } }
    const { before, after } = splitAtImage(tricky)
    expect(JSON.parse(`${before}QUJD${after}`)).toEqual({
      prompt,
      data: [{ b64_json: 'QUJD' }],
    })
  })
})
