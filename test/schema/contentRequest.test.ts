import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/domain/json.ts'
import type { ReceivedImage } from '../../src/domain/tasks/imageRequest.ts'
import { canonicalRequest } from '../../src/domain/tasks/imageRequest.ts'
import {
  isContentImagePath,
  parseContentModel,
  parseContentRequest,
} from '../../src/schema/contentRequest.ts'
import { receivedImage } from '../support/images.ts'

const contents = [{ parts: [{ text: 'a lighthouse' }] }]

function parse(document: Json, images: readonly ReceivedImage[] = []) {
  return parseContentRequest('v1beta.generateContent', 'familya-3-pro-image', document, images)
}

function refusal(document: Json) {
  const parsed = parse(document)
  if (parsed.ok || parsed.failure.tag !== 'invalid_request') throw new Error('not refused')
  return [parsed.failure.code, parsed.failure.param]
}

const config = (generationConfig: Json) => ({ contents, generationConfig })

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
  const snake = {
    contents: [
      camel.contents[0] ?? null,
      {
        role: 'model',
        parts: [{ inline_data: { mime_type: 'image/png', data: '' }, thought_signature: 'c2ln' }],
      },
      { parts: [{ inline_data: { mime_type: 'image/png', data: '' } }] },
    ],
    system_instruction: camel.systemInstruction,
    safety_settings: camel.safetySettings,
    generation_config: {
      response_modalities: ['TEXT', 'IMAGE'],
      image_config: { aspect_ratio: '16:9', image_size: '2K' },
      candidate_count: 1,
      top_p: 0.5,
      thinking_config: { include_thoughts: true, thinking_level: 'LOW' },
    },
  }
  const camelImages = [1, 2].map((turn) =>
    receivedImage(['contents', turn, 'parts', 0, 'inlineData', 'data']),
  )
  const snakeImages = [1, 2].map((turn) =>
    receivedImage(['contents', turn, 'parts', 0, 'inline_data', 'data']),
  )

  it('becomes an edit with images by reference, and size and aspect ratio outside the document', () => {
    expect(parse(camel, camelImages)).toMatchObject({
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
                { role: 'user', parts: [{ text: 'more red' }] },
                {
                  role: 'model',
                  parts: [
                    { inlineData: { mimeType: 'image/png', input: 0 }, thoughtSignature: 'c2ln' },
                  ],
                },
                { role: 'user', parts: [{ inlineData: { mimeType: 'image/png', input: 1 } }] },
              ],
              systemInstruction: { parts: [{ text: 'be brief' }] },
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
    const one = parse(camel, camelImages)
    const other = parse(snake, snakeImages)
    if (!one.ok || !other.ok) throw new Error('refused')
    expect([...canonicalRequest(other.value.request)]).toEqual([
      ...canonicalRequest(one.value.request),
    ])
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

  it.each([
    ['no contents', {}, 'missing_required_parameter', 'contents'],
    ['empty contents', { contents: [] }, 'invalid_value', 'contents'],
    ['only empty text', { contents: [{ parts: [{ text: '' }] }] }, 'invalid_value', 'contents'],
    ['an empty part', { contents: [{ parts: [{}] }] }, 'invalid_value', 'contents[0].parts[0]'],
    [
      'a role of neither side',
      { contents: [{ role: 'system', parts: [{ text: 'x' }] }] },
      'invalid_value',
      'contents[0].role',
    ],
    ['tools', { contents, tools: [{ google_search: {} }] }, 'invalid_value', 'tools'],
    ['tool_config', { contents, tool_config: {} }, 'unknown_parameter', 'tool_config'],
    [
      'file_data',
      { contents: [{ parts: [{ text: 'x' }, { file_data: { file_uri: 'x' } }] }] },
      'unknown_parameter',
      'contents[0].parts[1].file_data',
    ],
    [
      'fileData',
      { contents: [{ parts: [{ text: 'x' }, { fileData: {} }] }] },
      'unknown_parameter',
      'contents[0].parts[1].fileData',
    ],
    [
      'two candidates',
      config({ candidate_count: 2 }),
      'invalid_value',
      'generationConfig.candidate_count',
    ],
    ['no image wanted', config({ responseModalities: ['TEXT'] }), 'invalid_value', null],
    [
      'a pixel size',
      config({ imageConfig: { imageSize: '1024x1024' } }),
      'invalid_value',
      'generationConfig.imageConfig.imageSize',
    ],
    ['a seed too large', config({ seed: 2 ** 40 }), 'invalid_value', 'generationConfig.seed'],
    [
      'stop sequences',
      config({ stopSequences: ['x'] }),
      'unknown_parameter',
      'generationConfig.stopSequences',
    ],
  ])('is refused with %s, named in the casing of the client', (_what, document, code, param) => {
    const [seenCode, seenParam] = refusal(document)
    expect(seenCode).toBe(code)
    expect(seenParam).toBe(param ?? 'generationConfig.responseModalities')
  })

  it('is refused with one field in both casings', () => {
    expect(refusal({ contents, generationConfig: {}, generation_config: {} })).toEqual([
      'invalid_value',
      'generation_config',
    ])
  })

  it('has its image data at paths in either casing', () => {
    const data = (name: string) => ['contents', 0, 'parts', 1, name, 'data']
    expect(isContentImagePath(data('inlineData'))).toBe(true)
    expect(isContentImagePath(data('inline_data'))).toBe(true)
    expect(isContentImagePath(data('blob'))).toBe(false)
    expect(isContentImagePath(['systemInstruction', 'parts', 0, 'inlineData', 'data'])).toBe(false)
  })

  it('is for models of family A', () => {
    expect(parseContentModel('familya-3-pro-image')).toMatchObject({ ok: true })
    const failure = { code: 'model_not_found', param: 'model' }
    expect(parseContentModel('familyb-image-2-vip')).toMatchObject({ ok: false, failure })
    expect(parseContentModel('gemini')).toMatchObject({ ok: false, failure })
  })
})
