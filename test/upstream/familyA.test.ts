import { describe, expect, it } from 'vitest'
import { createModelTable } from '../../src/domain/models/modelTable.ts'
import type { ContentDocument, ImageRequest } from '../../src/domain/tasks/imageRequest.ts'
import { familyARequest, judgeFamilyA } from '../../src/upstream/familyA.ts'
import type { AnswerVerdict } from '../../src/upstream/modelAnswer.ts'
import { readModelAnswer } from '../../src/upstream/modelAnswer.ts'
import { redPixelPng } from '../support/images.ts'

const names = { modelVersion: 'familya-3-pro-image', responseId: 'ours' } as const
const png = { mimeType: 'image/png', data: redPixelPng.toString('base64') }
const held = { mimeType: 'image/png', data: '' }

async function verdictOf(answer: object | string): Promise<AnswerVerdict> {
  const text = typeof answer === 'string' ? answer : JSON.stringify(answer)
  const body = Buffer.from(text)
  const read = await readModelAnswer(body, { headers: {} })
  if (!read.ok) throw new Error(`Not read: ${read.failure.reason}`)
  return await judgeFamilyA(read.value, names)
}

function withParts(parts: readonly object[]): object {
  return { candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }] }
}

function candidatesOf(verdict: AnswerVerdict): unknown {
  return verdict.class === 'succeeded' ? verdict.native.response['candidates'] : verdict.reason
}

function answered(parts: readonly object[]): object[] {
  return [{ content: { role: 'model', parts }, finishReason: 'STOP' }]
}

const text = (text: string) => ({ text })
const link = { fileData: { mimeType: 'image/png', fileUri: 'http://elsewhere.invalid/1.png' } }
const image = (data: string) => ({ inlineData: { mimeType: 'image/png', data } })
const draft = { inlineData: png, thought: true }

describe('answers of family A', () => {
  it('give the last image that is not a thought, without the drafts', async () => {
    const planning = { text: 'Planning', thought: true }
    const signed = { thoughtSignature: 'c2ln' }
    const verdict = await verdictOf(
      withParts([
        planning,
        draft,
        { inlineData: png },
        text('Better:'),
        { inlineData: png, ...signed },
        draft,
        text('Done.'),
      ]),
    )
    const kept = [planning, text('Better:'), { inlineData: held, ...signed }, text('Done.')]
    expect(candidatesOf(verdict)).toEqual(answered(kept))
    const path = ['candidates', 0, 'content', 'parts', 2, 'inlineData', 'data']
    expect(verdict).toHaveProperty('native.imagePath', path)
  })

  it.each([
    ['before one that is marked as a thought after its bytes', [image(png.data), draft]],
    ['after many drafts', [...Array.from({ length: 40 }, () => draft), image(png.data)]],
    ['before one without bytes', [image(png.data), image('')]],
    ['before half of one', [image(png.data), image(png.data.slice(0, -20))]],
    ['beside a link, which is left out', [link, image(png.data)]],
  ])('give the last whole image: %s', async (_what, parts) => {
    expect(candidatesOf(await verdictOf(withParts(parts)))).toEqual(
      answered([{ inlineData: held }]),
    )
  })

  it('may be in snake_case and are returned in camelCase, with only the first candidate', async () => {
    const part = {
      inline_data: { mime_type: 'image/jpeg', data: png.data },
      thought_signature: 's',
    }
    const verdict = await verdictOf({
      candidates: [
        { content: { role: 'model', parts: [part] }, finish_reason: 'STOP' },
        ...answered([image(png.data)]),
      ],
      usage_metadata: { total_token_count: 4 },
      model_version: 'secret',
      response_id: 'theirs',
    })
    expect(verdict).toHaveProperty('native.response', {
      candidates: answered([{ inlineData: held, thoughtSignature: 's' }]),
      usageMetadata: { totalTokenCount: 4 },
      ...names,
    })
  })

  it('give the last thought when the model has ended well and there is no other image', async () => {
    const planned = { ...draft, thoughtSignature: 'c2ln' }
    const verdict = await verdictOf(withParts([draft, planned, text('Done.')]))
    const kept = [{ inlineData: held, thoughtSignature: 'c2ln' }, text('Done.')]
    expect(candidatesOf(verdict)).toEqual(answered(kept))
    expect(verdict).toMatchObject({ shape: 'thought' })
  })

  it('have no image when the only images are thoughts, and the model has not ended well', async () => {
    const finishReason = 'MAX_TOKENS'
    const content = { role: 'model', parts: [draft, text('Sorry')] }
    const verdict = await verdictOf({ candidates: [{ content, finishReason }] })
    expect(verdict).toMatchObject({ class: 'rejected', reason: 'no_image' })
    const shown = [{ content: { role: 'model', parts: [text('Sorry')] }, finishReason }]
    expect(verdict).toHaveProperty('nativeRejection.candidates', shown)
  })

  it('have the usage as it came, with fields that no document names', async () => {
    const usageMetadata = {
      totalTokenCount: 1130,
      trafficType: 'ON_DEMAND',
      toolUsePromptTokenCount: 3,
      cacheTokensDetails: [{ modality: 'TEXT', tokenCount: 4 }],
    }
    const verdict = await verdictOf({ ...withParts([image(png.data)]), usageMetadata })
    expect(verdict).toHaveProperty('native.response.usageMetadata', usageMetadata)
  })

  it.each([
    [{}],
    [{ candidates: 'none' }],
    [{ error: { code: 500, message: 'x', status: 'INTERNAL' } }],
    [withParts([{ inlineData: { mimeType: 'image/png' } }])],
    [withParts([image('aGVsbG8=')])],
    [withParts([draft, image('aGVsbG8=')])],
    [withParts([draft, link])],
    [withParts([draft, { ...image(png.data.slice(0, -20)), thought: true }])],
    [withParts([link])],
  ])('are broken as %j', async (answer) => {
    expect(await verdictOf(answer)).toEqual({ class: 'unknown', reason: 'broken_body' })
  })
})

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
  const pieces = familyARequest(whole, createModelTable())
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
