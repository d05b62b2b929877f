import { randomBytes } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import { isFamilyAImage, judgeFamilyA } from '../../src/upstream/familyA.ts'
import type { AnswerVerdict } from '../../src/upstream/familyCall.ts'
import { readModelAnswer } from '../../src/upstream/answerImages.ts'
import { streamOf } from '../support/byteStreams.ts'
import { paddedPng, redPixelPng } from '../support/images.ts'
import { tempFolder } from '../support/tempFolder.ts'

const names = { modelVersion: 'familya-3-pro-image', responseId: 'ours' }
const png = { mimeType: 'image/png', data: redPixelPng.toString('base64') }
const held = { mimeType: 'image/png', data: '' }

async function verdictOf(answer: object | string): Promise<AnswerVerdict> {
  const text = typeof answer === 'string' ? answer : JSON.stringify(answer)
  const body = streamOf([Buffer.from(text)])
  const read = await readModelAnswer(body, isFamilyAImage, { tempDir: tempFolder(), randomBytes })
  if (!read.ok) throw new Error(`Not read: ${read.failure.reason}`)
  onTestFinished(async () => {
    for (const { image } of read.value.images) await image?.discard()
  })
  return judgeFamilyA(read.value, names)
}

function withParts(parts: readonly object[]): object {
  return { candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }] }
}

function candidatesOf(verdict: AnswerVerdict): unknown {
  return verdict.class === 'succeeded' ? verdict.native.response['candidates'] : verdict.reason
}

const broken = { class: 'unknown', reason: 'broken_body' }

function answered(parts: readonly object[]): object[] {
  return [{ content: { role: 'model', parts }, finishReason: 'STOP' }]
}

describe('answers of family A', () => {
  it('give the last image that is not a thought, without the drafts', async () => {
    const verdict = await verdictOf(
      withParts([
        { text: 'Planning', thought: true },
        { inlineData: png, thought: true },
        { inlineData: png },
        { text: 'Better:' },
        { inlineData: png, thoughtSignature: 'c2ln' },
        { inlineData: png, thought: true },
        { text: 'Done.' },
      ]),
    )
    expect(candidatesOf(verdict)).toEqual(
      answered([
        { text: 'Planning', thought: true },
        { text: 'Better:' },
        { inlineData: held, thoughtSignature: 'c2ln' },
        { text: 'Done.' },
      ]),
    )
    expect(verdict).toHaveProperty('native.imagePath', [
      'candidates',
      0,
      'content',
      'parts',
      2,
      'inlineData',
      'data',
    ])
  })

  it('may mark an image as a thought after its bytes', async () => {
    const verdict = await verdictOf(
      withParts([{ inlineData: png }, { inlineData: png, thought: true }]),
    )
    expect(candidatesOf(verdict)).toEqual(answered([{ inlineData: held }]))
  })

  it('give the last image after many drafts', async () => {
    const drafts = Array.from({ length: 40 }, () => ({ inlineData: png, thought: true }))
    const verdict = await verdictOf(withParts([...drafts, { inlineData: png }]))
    expect(candidatesOf(verdict)).toEqual(answered([{ inlineData: held }]))
  })

  it.each(['', 'aGVsbG8=', png.data.slice(0, -20)])(
    'give the last image that is whole, before one of %j',
    async (data) => {
      const parts = [{ inlineData: png }, { inlineData: { mimeType: 'image/png', data } }]
      const verdict = await verdictOf(withParts([...parts, { text: 'Done.' }]))
      expect(candidatesOf(verdict)).toEqual(answered([{ inlineData: held }, { text: 'Done.' }]))
    },
  )

  it('give the image of the last of equal keys', async () => {
    const other = { mimeType: 'image/png', data: paddedPng(200, 1).toString('base64') }
    const [first, last] = [png, other].map((inlineData) =>
      JSON.stringify(withParts([{ inlineData }])).slice(1, -1),
    )
    const verdict = await verdictOf(`{${first},${last}}`)
    expect(verdict).toMatchObject({ class: 'succeeded', image: { bytes: 200 } })
  })

  it('may be in snake_case and are returned in camelCase', async () => {
    const part = {
      inline_data: { mime_type: 'image/jpeg', data: png.data },
      thought_signature: 's',
    }
    const verdict = await verdictOf({
      candidates: [{ content: { role: 'model', parts: [part] }, finish_reason: 'STOP' }],
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

  it('are returned with only the first candidate', async () => {
    const [first] = answered([{ inlineData: png }])
    const verdict = await verdictOf({ candidates: [first, ...answered([{ inlineData: png }])] })
    expect(candidatesOf(verdict)).toEqual(answered([{ inlineData: held }]))
  })

  it('are broken with a link to an image instead of an image, and are returned without links', async () => {
    const fileData = { mimeType: 'image/png', fileUri: 'http://elsewhere.invalid/1.png' }
    expect(await verdictOf(withParts([{ fileData }]))).toEqual(broken)
    const both = await verdictOf(withParts([{ fileData }, { inlineData: png }]))
    expect(candidatesOf(both)).toEqual(answered([{ inlineData: held }]))
  })

  it('are broken with a broken image next to a thought', async () => {
    const inlineData = { mimeType: 'image/png', data: 'aGVsbG8=' }
    const verdict = await verdictOf(withParts([{ inlineData: png, thought: true }, { inlineData }]))
    expect(verdict).toEqual(broken)
  })

  it('have no image when the only images are thoughts', async () => {
    const verdict = await verdictOf(
      withParts([{ inlineData: png, thought: true }, { text: 'Sorry' }]),
    )
    expect(verdict).toMatchObject({ class: 'rejected', reason: 'no_image' })
    expect(verdict).toHaveProperty('nativeRejection.candidates', answered([{ text: 'Sorry' }]))
  })

  it.each([
    [{}],
    [{ status: 'ok' }],
    [{ candidates: 'none' }],
    [{ error: { code: 500, message: 'x', status: 'INTERNAL' } }],
    [withParts([{ inlineData: { mimeType: 'image/png' } }])],
    [withParts([{ inlineData: { mimeType: 'image/png', data: '' } }])],
    [withParts([{ inlineData: { mimeType: 'image/png', data: 'aGVsbG8=' } }])],
  ])('are broken as %j', async (answer) => {
    expect(await verdictOf(answer)).toEqual(broken)
  })
})
