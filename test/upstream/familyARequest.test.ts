import { describe, expect, it } from 'vitest'
import { builtInCapabilities } from '../../src/domain/models/capabilities.ts'
import type { ContentDocument, ImageRequest } from '../../src/domain/tasks/imageRequest.ts'
import { familyARequest } from '../../src/upstream/familyARequest.ts'

const input = { blobKey: 'in1/0', mimeType: 'image/png', bytes: 3, sha256: 'ab' } as const
const other = { ...input, blobKey: 'in1/1', mimeType: 'image/webp' } as const

/** The body that would be sent, with the blob key in the place of each image. */
function sent(request: Partial<ImageRequest>): unknown {
  const whole: ImageRequest = {
    route: 'images.tasks',
    family: 'A',
    model: 'familya-3-pro-image',
    action: 'generate',
    body: { kind: 'prompt', prompt: 'A fox' },
    inputs: [],
    ...request,
  }
  const pieces = familyARequest(whole, builtInCapabilities[whole.model])
  return JSON.parse(
    pieces.map((piece) => (piece.kind === 'text' ? piece.text : piece.input.blobKey)).join(''),
  )
}

function sentContent(content: ContentDocument, request: Partial<ImageRequest> = {}): unknown {
  return sent({ body: { kind: 'content', content }, ...request })
}

const contents = [{ role: 'user', parts: [{ text: 'A fox' }] }]

describe('requests to family A', () => {
  it('ask for text and image, with the prompt before the images', () => {
    expect(sent({ action: 'edit', inputs: [input, other] })).toEqual({
      contents: [
        {
          role: 'user',
          parts: [
            { text: 'A fox' },
            { inlineData: { mimeType: 'image/png', data: 'in1/0' } },
            { inlineData: { mimeType: 'image/webp', data: 'in1/1' } },
          ],
        },
      ],
      generationConfig: { responseModalities: ['TEXT', 'IMAGE'] },
    })
  })

  it('send a native document unchanged, with each image in its place', () => {
    const signed = { thoughtSignature: 'c2ln' }
    const document: ContentDocument = {
      contents: [
        { role: 'user', parts: [{ inlineData: { mimeType: 'image/webp', input: 1 } }] },
        { role: 'model', parts: [{ inlineData: { mimeType: 'image/png', input: 0 }, ...signed }] },
        { role: 'user', parts: [{ text: '"quoted" \n inlineData' }] },
      ],
      systemInstruction: { parts: [{ text: 'Paint.' }] },
      safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }],
      generationConfig: { seed: 7, temperature: 0.5, candidateCount: 1 },
    }
    expect(sentContent(document, { action: 'edit', inputs: [input, other] })).toEqual({
      ...document,
      contents: [
        { role: 'user', parts: [{ inlineData: { mimeType: 'image/webp', data: 'in1/1' } }] },
        {
          role: 'model',
          parts: [{ inlineData: { mimeType: 'image/png', data: 'in1/0' }, ...signed }],
        },
        { role: 'user', parts: [{ text: '"quoted" \n inlineData' }] },
      ],
    })
  })

  it('send a native document without the size to models that refuse the field', () => {
    const generationConfig = { imageConfig: { imageSize: '1K' } }
    const model = 'familya-2.5-flash-image'
    expect(sentContent({ contents, generationConfig }, { model, size: '1K' })).toEqual({ contents })
    expect(sentContent({ contents, generationConfig }, { size: '1K' })).toEqual({
      contents,
      generationConfig,
    })
  })

  it('send a native document with the modalities that its author chose', () => {
    const generationConfig = { responseModalities: ['IMAGE'] }
    expect(sentContent({ contents, generationConfig })).toEqual({ contents, generationConfig })
    expect(sentContent({ contents })).toEqual({ contents })
  })
})
