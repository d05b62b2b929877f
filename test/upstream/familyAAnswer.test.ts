import { describe, expect, it } from 'vitest'
import { isFamilyAImage, judgeFamilyA } from '../../src/upstream/familyA.ts'
import type { AnswerVerdict } from '../../src/upstream/familyCall.ts'
import { readModelAnswer } from '../../src/upstream/modelAnswer.ts'
import { redPixelPng } from '../support/images.ts'

const names = { modelVersion: 'familya-3-pro-image', responseId: 'ours' } as const
const png = { mimeType: 'image/png', data: redPixelPng.toString('base64') }
const held = { mimeType: 'image/png', data: '' }

async function verdictOf(answer: object | string): Promise<AnswerVerdict> {
  const text = typeof answer === 'string' ? answer : JSON.stringify(answer)
  const body = Buffer.from(text)
  const read = await readModelAnswer(body, { headers: {} }, isFamilyAImage)
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

  it('have no image when the only images are thoughts', async () => {
    const verdict = await verdictOf(withParts([draft, text('Sorry')]))
    expect(verdict).toMatchObject({ class: 'rejected', reason: 'no_image' })
    expect(verdict).toHaveProperty('nativeRejection.candidates', answered([text('Sorry')]))
  })

  it.each([
    [{}],
    [{ candidates: 'none' }],
    [{ error: { code: 500, message: 'x', status: 'INTERNAL' } }],
    [withParts([{ inlineData: { mimeType: 'image/png' } }])],
    [withParts([image('aGVsbG8=')])],
    [withParts([draft, image('aGVsbG8=')])],
    [withParts([link])],
  ])('are broken as %j', async (answer) => {
    expect(await verdictOf(answer)).toEqual({ class: 'unknown', reason: 'broken_body' })
  })
})
