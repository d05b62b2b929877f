import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Simulator } from '../../../src/dev/simulator/server.ts'
import { startSimulator } from '../../../src/dev/simulator/server.ts'
import { at, bodyA, callA, imagesOf, partsOf, pngOf } from './vendorCalls.ts'

let simulator: Simulator
beforeAll(async () => {
  simulator = await startSimulator({ port: 0, latency: 0 })
})
afterAll(() => simulator.close())

describe('the simulated family A', () => {
  it('answers a prompt with a candidate that contains a text and an image', async () => {
    const answer = await callA(simulator, bodyA('a lighthouse'))
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-request-id')).toMatch(/^req_/)
    expect(Object.keys(answer.json).toSorted()).toEqual([
      'candidates',
      'modelVersion',
      'responseId',
      'usageMetadata',
    ])
    const [text, image] = partsOf(answer)
    expect(text).toEqual({ text: 'Here is your image.' })
    expect(at(image, 'inlineData', 'mimeType')).toBe('image/png')
    expect(at(image, 'thoughtSignature')).toEqual(expect.any(String))
    expect(at(answer.json, 'candidates', 0, 'finishReason')).toBe('STOP')
    expect(at(answer.json, 'modelVersion')).toBe('familya-3-pro-image')
  })

  it('reports tokens by modality that add up', async () => {
    const answer = await callA(simulator, bodyA('a lighthouse at dusk', [await pngOf(32, 32)]))
    const usage = at(answer.json, 'usageMetadata')
    expect(usage).toMatchObject({
      promptTokenCount: 1125,
      candidatesTokenCount: 1126,
      thoughtsTokenCount: 180,
      totalTokenCount: 1125 + 1126 + 180,
      promptTokensDetails: [
        { modality: 'TEXT', tokenCount: 5 },
        { modality: 'IMAGE', tokenCount: 1120 },
      ],
    })
  })

  it('accepts snake case and draws the asked ratio and tier', async () => {
    const body = {
      contents: [{ parts: [{ text: 'a harbour' }] }],
      generation_config: { image_config: { aspect_ratio: '16:9', image_size: '2K' } },
    }
    const [image] = imagesOf(await callA(simulator, body))
    expect(await sharp(image).metadata()).toMatchObject({
      width: 2752,
      height: 1536,
      format: 'png',
    })
  })

  it('keeps the shape of the source when an edit has no ratio', async () => {
    const [image] = imagesOf(await callA(simulator, bodyA('wider', [await pngOf(300, 200)])))
    expect(await sharp(image).metadata()).toMatchObject({ width: 1264, height: 848 })
  })

  it('omits the text when the request asks for images only', async () => {
    const config = { responseModalities: ['IMAGE'] }
    const parts = partsOf(await callA(simulator, bodyA('a quiet image', [], config)))
    expect(parts.map((part) => Object.keys(part)[0])).toEqual(['inlineData'])
  })

  it.each([
    ['an image size on the model that has only one', 'familya-2.5-flash-image', '1K'],
    ['a tier that the model does not have', 'familya-3.1-flash-lite-image', '2K'],
    ['a tier in small letters', 'familya-3-pro-image', '1k'],
  ])('refuses %s', async (_what, model, imageSize) => {
    const config = { imageConfig: { imageSize } }
    const answer = await callA(simulator, bodyA('x', [], config), { model })
    expect(answer.status).toBe(400)
    expect(at(answer.json, 'error', 'status')).toBe('INVALID_ARGUMENT')
    expect(at(answer.json, 'error', 'code')).toBe(400)
  })

  it('refuses an extreme ratio on models that do not support it', async () => {
    const config = { imageConfig: { aspectRatio: '1:8' } }
    const pro = await callA(simulator, bodyA('x', [], config))
    const flash = await callA(simulator, bodyA('x', [], config), {
      model: 'familya-3.1-flash-image',
    })
    expect([pro.status, flash.status]).toEqual([400, 200])
  })

  it.each([
    ['an unknown field', { ...bodyA('x'), colour: 'red' }, /Unknown name "colour"/],
    ['an unknown field deep inside', bodyA('x', [], { imageConfig: { dpi: 3 } }), /"dpi" at/],
    ['several candidates', bodyA('x', [], { candidateCount: 2 }), /candidates/],
    ['a request without text', { contents: [{ parts: [{ text: '' }] }] }, /no text/],
    ['a request without contents', {}, /contents/],
    ['a file reference', { contents: [{ parts: [{ text: 'x' }, { fileData: {} }] }] }, /files/],
  ])('refuses %s and names it', async (_what, body, message) => {
    const answer = await callA(simulator, body)
    expect(answer.status).toBe(400)
    expect(at(answer.json, 'error', 'message')).toMatch(message)
  })

  it.each([
    ['declared as another type than it is', 'image/jpeg', null],
    ['that is not an image', 'image/png', Buffer.from('hello, I am text').toString('base64')],
    ['in broken base64', 'image/png', 'iVBORw0KGgo*AAAA'],
  ])('refuses an input image %s', async (_what, mimeType, given) => {
    const data = given ?? (await pngOf(8, 8)).toString('base64')
    const parts = [{ text: 'x' }, { inlineData: { mimeType, data } }]
    const answer = await callA(simulator, { contents: [{ parts }] })
    expect(answer.status).toBe(400)
  })

  it('refuses a call without a key with 400, as the vendor does', async () => {
    const answer = await callA(simulator, bodyA('x'), { headers: { 'x-goog-api-key': '' } })
    expect(answer.status).toBe(400)
    expect(at(answer.json, 'error', 'details', 0, 'reason')).toBe('API_KEY_INVALID')
  })

  it('takes the prompt from the last turn of the user', async () => {
    const contents = [
      { role: 'user', parts: [{ text: 'a cat' }] },
      { role: 'model', parts: [{ text: 'Here is your image.' }] },
      { role: 'user', parts: [{ text: 'now' }, { text: 'in blue' }] },
    ]
    await callA(simulator, { contents })
    expect(simulator.calls().at(-1)?.prompt).toBe('now\nin blue')
  })
})
