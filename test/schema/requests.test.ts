import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/domain/json.ts'
import { parseContentRequest } from '../../src/schema/contentRequest.ts'
import { parseEditsRequest, parseGenerationsRequest } from '../../src/schema/imagesRequest.ts'
import { parseTaskRequest } from '../../src/schema/taskRequest.ts'
import { receivedImage } from '../support/images.ts'

const image = receivedImage(['image'])
const generation = { model: 'familyb-image-2-vip', prompt: 'A lighthouse' }
const task = { ...generation, action: 'generate' }
const contents = [{ role: 'user', parts: [{ text: 'A lighthouse' }] }]

const generationsOf = (fields: object) => parseGenerationsRequest({ ...generation, ...fields })
const editsOf = (fields: object) => parseEditsRequest({ ...generation, ...fields }, image)
const contentOf = (fields: object) =>
  parseContentRequest('v1beta.generateContent', 'familya-3-pro-image', { contents, ...fields }, [])

const inBoth = {
  response_format: 'b64_json',
  output_format: 'png',
  background: 'auto',
  moderation: 'auto',
  size: 'auto',
  user: 'u'.repeat(512),
}

describe('a field that clients always send', () => {
  it('changes nothing with the value that says what Darkroom does anyway [client-1]', () => {
    const inJson = { ...inBoth, stream: false, partial_images: 0 }
    const inForm = { ...inBoth, stream: 'false', partial_images: '0' }
    for (const [name, value] of Object.entries(inJson)) {
      expect([name, generationsOf({ [name]: value })]).toEqual([name, generationsOf({})])
    }
    for (const [name, value] of Object.entries(inForm)) {
      expect([name, editsOf({ [name]: value })]).toEqual([name, editsOf({})])
    }
    expect(generationsOf(inJson)).toEqual(generationsOf({}))
    expect(editsOf(inForm)).toEqual(editsOf({}))
  })

  it.each([
    ['response_format', 'url', /"b64_json".*\/v1\/images\/tasks/],
    ['output_format', 'webp', /"png"/],
    ['background', 'transparent', /"auto"/],
    ['moderation', 'low', /"auto"/],
    ['stream', 'yes', /boolean|"true"/],
    ['partial_images', 4, /3/],
    ['partial_images', 2, /0 or absent without a stream/],
    ['user', 'u'.repeat(513), /512/],
    ['user', 'ü'.repeat(257), /512/],
  ])(
    'is refused with any other value, and told what to send: %s [client-2]',
    (param, value, told) => {
      const code = 'invalid_value'
      const message: unknown = expect.stringMatching(told)
      const failure = { code, param, message }
      expect(generationsOf({ [param]: value })).toMatchObject({ failure })
      expect(editsOf({ [param]: String(value) })).toMatchObject({ failure })
    },
  )

  it('of partial images takes 0 to 3 with a stream, and 0 without [stream-2]', () => {
    for (const partials of [0, 1, 2, 3]) {
      const ok = { ok: true, value: { isStreamed: true } }
      expect(generationsOf({ stream: true, partial_images: partials })).toMatchObject(ok)
      expect(editsOf({ stream: 'true', partial_images: String(partials) })).toMatchObject(ok)
      expect(generationsOf({ partial_images: partials }).ok).toBe(partials === 0)
      expect(editsOf({ partial_images: String(partials) }).ok).toBe(partials === 0)
    }
  })

  it('stays unknown on the task endpoint [client-3]', () => {
    for (const [param, value] of Object.entries({ ...inBoth, size: undefined, stream: false })) {
      if (value === undefined) continue
      const refused = { failure: { code: 'unknown_parameter', param } }
      expect(parseTaskRequest({ ...task, [param]: value }, [])).toMatchObject(refused)
    }
  })
})

describe('null', () => {
  it('reads as absent for an optional field, at any depth [client-4]', () => {
    expect(generationsOf({ size: null, quality: null, n: null })).toEqual(generationsOf({}))
    const imageConfig = { aspectRatio: '1:1' }
    expect(
      contentOf({
        systemInstruction: null,
        generation_config: { temperature: null, imageConfig: null, image_config: imageConfig },
      }),
    ).toEqual(contentOf({ generation_config: { image_config: imageConfig } }))
  })

  it('is a missing value for a required field [client-4]', () => {
    const code = 'missing_required_parameter'
    expect(
      contentOf({ contents: [{ parts: [{ inlineData: { mime_type: null, data: '' } }] }] }),
    ).toMatchObject({ failure: { code, param: 'contents[0].parts[0].inlineData.mime_type' } })
  })

  it('makes no unknown field known, and is no item of a list [client-4]', () => {
    const unknown = (param: string) => ({ failure: { code: 'unknown_parameter', param } })
    expect(generationsOf({ style: null })).toMatchObject(unknown('style'))
    expect(contentOf({ generation_config: { response_format: null } })).toMatchObject(
      unknown('generation_config.response_format'),
    )
    expect(parseTaskRequest({ ...task, action: 'edit', input_images: [null] }, [])).toMatchObject({
      failure: { code: 'invalid_value', param: 'input_images[0]' },
    })
  })
})

it('a content request may have an empty list of tools, which has no effect [client-6]', () => {
  expect(contentOf({ tools: [] })).toEqual(contentOf({}))
})

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
  const images = [receivedImage(['first']), receivedImage(['second'])]
  const [one, other] = [camel, snake].map((document) =>
    parseContentRequest('v1beta.generateContent', 'familya-3-pro-image', document, images),
  )
  const request = { action: 'edit', size: '2K', aspectRatio: '16:9' }
  expect(one).toMatchObject({ ok: true, value: { request } })
  expect(other).toMatchObject({ value: { request: one?.ok === true && one.value.request } })
  expect(other).toHaveProperty('value.paramNames', {
    size: 'generation_config.image_config.image_size',
    aspectRatio: 'generation_config.image_config.aspect_ratio',
    thinkingConfig: 'generation_config.thinking_config',
    thinkingLevel: 'generation_config.thinking_config.thinking_level',
  })
})
