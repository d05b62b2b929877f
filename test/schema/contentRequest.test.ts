import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/domain/json.ts'
import type { ReceivedImage, UnstoredRequest } from '../../src/domain/tasks/imageRequest.ts'
import { canonicalRequest } from '../../src/domain/tasks/imageRequest.ts'
import { isContentImagePath, parseContentRequest } from '../../src/schema/contentRequest.ts'
import { receivedImage } from '../support/images.ts'

const contents = [{ parts: [{ text: 'a lighthouse' }] }]

function parse(document: Json, images: readonly ReceivedImage[] = []) {
  return parseContentRequest('v1beta.generateContent', 'familya-3-pro-image', document, images)
}

/** The canonical text of a request, with each image hashed as when it is stored. */
function canonicalText(request: UnstoredRequest): string {
  const inputs = request.inputs.map(({ mimeType, content }) => {
    const sha256 = createHash('sha256').update(content).digest('hex')
    return { blobKey: 'in1/0', mimeType, bytes: content.length, sha256 }
  })
  return canonicalRequest({ ...request, inputs })
}

describe('a content request', () => {
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
  )
  const imagesIn = (name: string) =>
    [1, 2].map((turn) => receivedImage(['contents', turn, 'parts', 0, name, 'data']))

  it('is the same request whatever the order of its keys', () => {
    const turned: Json = JSON.parse(JSON.stringify(camel), (_key, value: Json) =>
      value !== null && typeof value === 'object' && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).toReversed())
        : value,
    )
    const texts = [camel, turned].map((document) => {
      const parsed = parse(document, imagesIn('inlineData'))
      return parsed.ok && canonicalText(parsed.value.request)
    })
    expect(texts[0]).toMatch(/lighthouse|more red/)
    expect(texts[1]).toBe(texts[0])
  })

  it('becomes an edit with images by reference, and size and aspect ratio outside the document', () => {
    const [user, model] = camel.contents
    const [inlineData, other] = [0, 1].map((input) => ({ mimeType: 'image/png', input }))
    const parsed = parse(camel, imagesIn('inlineData'))
    expect(parsed).toMatchObject({
      ok: true,
      value: {
        request: {
          action: 'edit',
          size: '2K',
          aspectRatio: '16:9',
          inputs: [{ mimeType: 'image/png' }, { mimeType: 'image/png' }],
          body: {
            kind: 'content',
            content: {
              contents: [
                user,
                { ...model, parts: [{ inlineData, thoughtSignature: 'c2ln' }] },
                { role: 'user', parts: [{ inlineData: other }] },
              ],
              systemInstruction: camel.systemInstruction,
              safetySettings: camel.safetySettings,
              generationConfig: {
                responseModalities: ['TEXT', 'IMAGE'],
                candidateCount: 1,
                topP: 0.5,
                thinkingConfig: { includeThoughts: true, thinkingLevel: 'LOW' },
              },
            },
          },
        },
      },
    })
  })

  it('is the same request in either casing', () => {
    const one = parse(camel, imagesIn('inlineData'))
    const other = parse(snake, imagesIn('inline_data'))
    if (!one.ok || !other.ok) throw new Error('refused')
    const [first, second] = [one, other].map(({ value }) => canonicalText(value.request))
    expect(second).toEqual(first)
    expect(one.value.paramNames.size).toBe('generationConfig.imageConfig.imageSize')
    expect(other.value.paramNames).toEqual({
      size: 'generation_config.image_config.image_size',
      aspectRatio: 'generation_config.image_config.aspect_ratio',
    })
  })

  it('generates when it has no image and no configuration', () => {
    const parsed = parse({ contents })
    expect(parsed).toMatchObject({ ok: true, value: { request: { action: 'generate' } } })
    expect(parsed).not.toHaveProperty('value.request.body.content.generationConfig')
  })

  it('has its image data at paths in either casing', () => {
    const names = ['inlineData', 'inline_data', 'blob']
    const paths = [
      ...names.map((name) => ['contents', 0, 'parts', 1, name, 'data']),
      ['systemInstruction', 'parts', 0, 'inlineData', 'data'],
    ]
    expect(paths.map(isContentImagePath)).toEqual([true, true, false, false])
  })
})
