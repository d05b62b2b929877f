import { expect, it } from 'vitest'
import type { Json } from '../../src/domain/json.ts'
import { parseContentRequest } from '../../src/schema/contentRequest.ts'
import { receivedImage } from '../support/images.ts'

it('a content request is the same in either casing, and whatever the order of its keys', () => {
  const camel = {
    contents: [
      { role: 'user', parts: [{ text: 'more red' }] },
      {
        role: 'model',
        parts: [{ inlineData: { mimeType: 'image/png', data: '' }, thoughtSignature: 'c2ln' }],
      },
      { parts: [{ inlineData: { mimeType: 'image/png', data: '' } }] },
    ],
    systemInstruction: { parts: [{ text: 'be brief' }] },
    safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }],
    generationConfig: {
      responseModalities: ['Text', 'Image'],
      imageConfig: { aspectRatio: '16:9', imageSize: '2K' },
      candidateCount: 1,
      topP: 0.5,
      thinkingConfig: { includeThoughts: true, thinkingLevel: 'low' },
    },
  }
  const snake: Json = JSON.parse(
    JSON.stringify(camel)
      .replaceAll(/"(\w+)":/g, (name) => name.replaceAll(/[A-Z]/g, (at) => `_${at.toLowerCase()}`))
      .replace('["Text","Image"]', '["TEXT","IMAGE"]')
      .replace('"low"', '"LOW"'),
    (_key, value: Json) =>
      value !== null && typeof value === 'object' && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).toReversed())
        : value,
  )
  const [one, other] = [camel, snake].map((document, i) => {
    const name = i === 0 ? 'inlineData' : 'inline_data'
    const images = [1, 2].map((turn) => receivedImage(['contents', turn, 'parts', 0, name, 'data']))
    return parseContentRequest('v1beta.generateContent', 'familya-3-pro-image', document, images)
  })
  const request = { action: 'edit', size: '2K', aspectRatio: '16:9' }
  expect(one).toMatchObject({ ok: true, value: { request } })
  expect(other).toMatchObject({ value: { request: one?.ok === true && one.value.request } })
  expect(other).toHaveProperty('value.paramNames', {
    size: 'generation_config.image_config.image_size',
    aspectRatio: 'generation_config.image_config.aspect_ratio',
  })
})
