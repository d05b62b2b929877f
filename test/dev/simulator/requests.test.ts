import { once } from 'node:events'
import { request } from 'node:http'
import OpenAI, { toFile } from 'openai'
import { describe, expect, it } from 'vitest'
import { blobOf, bodyA, bodyB, imagesOf, pngOf, useSimulator } from './vendorCalls.ts'

const { running, callA, callB, editB, post } = useSimulator()
const message = (pattern: RegExp) => ({ error: { message: expect.stringMatching(pattern) } })
const fields = { model: 'familyb-image-2-vip', prompt: 'edit it', n: '1' }

const png = await pngOf(8, 8)

describe('the simulated family A', () => {
  it('answers with a text, a signed image, and tokens', async () => {
    const answer = await callA(bodyA('a lighthouse at dusk', [await pngOf(32, 32)]))
    const image = { inlineData: { mimeType: 'image/png' }, thoughtSignature: expect.any(String) }
    const parts = [{ text: 'Here is the edited image.' }, image]
    expect(answer.json).toMatchObject({
      candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }],
      modelVersion: 'familya-3-pro-image',
      responseId: expect.any(String),
      usageMetadata: {
        promptTokenCount: 10,
        candidatesTokenCount: 1120,
        totalTokenCount: 1130,
      },
    })
  })

  it('omits the text when the request asks for images only', async () => {
    const { text } = await callA(bodyA('x', [], { responseModalities: ['IMAGE'] }))
    expect(text).not.toContain('"text"')
  })

  it.each([
    ['a tier in small letters', { imageSize: '1k' }],
    ['an unknown ratio', { aspectRatio: '1:7' }],
  ])('refuses %s', async (_what, imageConfig) => {
    const answer = await callA(bodyA('x', [], { imageConfig }))
    const error = { code: 400, status: 'INVALID_ARGUMENT' }
    expect(answer).toMatchObject({ status: 400, json: { error } })
  })

  it.each([
    ['an unknown field', { ...bodyA('x'), colour: 'red' }, /Unknown name "colour"/],
    ['an unknown field deep inside', bodyA('x', [], { imageConfig: { dpi: 3 } }), /"dpi" at/],
    ['several candidates', bodyA('x', [], { candidateCount: 2 }), /candidates/],
    ['a request without text', { contents: [{ parts: [{ text: '' }] }] }, /no text/],
    ['a request without contents', {}, /contents/],
    ['a file reference', { contents: [{ parts: [{ text: 'x' }, { fileData: {} }] }] }, /files/],
    ['an image that is none', bodyA('x', [Buffer.from('hello, I am text')]), /input image/],
  ])('refuses %s and says why', async (_what, body, pattern) => {
    expect(await callA(body)).toMatchObject({ status: 400, json: message(pattern) })
  })

  it.each([
    ['image/jpeg', png.toString('base64'), /input image/],
    ['image/png', 'iVBORw0KGgo*AAAA', /Base64 decoding failed/],
  ])('refuses an image of type %s with the data %s', async (mimeType, data, pattern) => {
    const parts = [{ text: 'x' }, { inlineData: { mimeType, data } }]
    const answer = await callA({ contents: [{ parts }] })
    expect(answer).toMatchObject({ status: 400, json: message(pattern) })
  })

  it('takes the prompt from the last turn of the user', async () => {
    const contents = [
      { role: 'user', parts: [{ text: 'a cat' }] },
      { role: 'model', parts: [{ text: 'Here is your image.', thoughtSignature: 'x' }] },
      { role: 'user', parts: [{ text: 'now' }, { text: 'in blue' }] },
    ]
    expect((await callA({ contents, generationConfig: { topP: 1 } })).status).toBe(200)
    expect(running().calls()[0]?.prompt).toBe('now\nin blue')
  })
})

describe('the simulated family B', () => {
  it('answers a generation with as many different images as asked, and their tokens', async () => {
    const answer = await callB(bodyB('a heron', { size: '2048x2048', quality: 'low', n: 2 }))
    expect(new Set(imagesOf(answer).map((image) => image.toString('hex'))).size).toBe(2)
    expect(answer.json).toMatchObject({
      created: expect.any(Number),
      size: '2048x2048',
      quality: 'low',
      output_format: 'png',
      background: 'opaque',
      usage: { input_tokens: 10, output_tokens: 3512, total_tokens: 3522 },
    })
  })

  it.each([
    ['a side that is not a multiple of 16', { size: '1000x1024' }, 'size', 'invalid_value'],
    ['too few pixels', { size: '512x512' }, 'size', 'invalid_value'],
    ['a size of the other family', { size: '1K' }, 'size', 'invalid_value'],
    ['an unknown quality', { quality: 'best' }, 'quality', 'invalid_value'],
    ['an unknown parameter', { colour: 'red' }, 'colour', 'unknown_parameter'],
    ['eleven images', { n: 11 }, 'n', 'invalid_value'],
  ])("refuses %s in the vendor's error format", async (_what, more, param, code) => {
    const answer = await callB(bodyB('x', more))
    const error = { message: expect.any(String), type: 'invalid_request_error', param, code }
    expect([answer.status, answer.json]).toEqual([400, { error }])
  })

  it('refuses a generation that is not JSON', async () => {
    const answer = await callB(bodyB('x'), { headers: { 'content-type': 'text/plain' } })
    expect(answer).toMatchObject({
      status: 400,
      json: { error: { code: 'unsupported_content_type' } },
    })
  })

  it.each(['image', 'image[]'])('edits the images of the form field %s', async (field) => {
    const sources = [blobOf(await pngOf(20, 20)), blobOf(await pngOf(30, 20, '#cc3333'))]
    const answer = await editB(fields, sources, field)
    expect(answer.status).toBe(200)
    expect(running().calls()[0]).toMatchObject({ action: 'edit', body: fields, images: [{}, {}] })
  })

  it.each([
    ['no image', [], 'missing_required_parameter'],
    ['no image type', [blobOf(png, 'application/octet-stream')], 'invalid_image_file'],
    ['another type than declared', [blobOf(png, 'image/webp')], 'invalid_image_file'],
    ['17 images', Array.from({ length: 17 }, () => blobOf(Buffer.of(1))), 'array_above_max_length'],
  ])('refuses an edit with %s', async (_what, images, code) => {
    expect(await editB(fields, images)).toMatchObject({ status: 400, json: { error: { code } } })
  })

  it('refuses a form that is cut off', async () => {
    const type = 'multipart/form-data; boundary=b'
    const headers = { authorization: 'Bearer k', 'content-type': type }
    const body = '--b\r\nContent-Disposition: form-data; name="prompt"\r\n\r\nhalf a pro'
    const answer = await post('/v1/images/edits', { headers, body })
    expect(answer).toMatchObject({ status: 400, json: message(/multipart/) })
  })

  it('serves generations and edits of the official OpenAI client', async () => {
    const baseURL = `${running().url}/v1`
    const client = new OpenAI({ apiKey: 'key', baseURL, maxRetries: 0 })
    const common = { model: 'familyb-image-2-web', prompt: 'by the client' }
    const made = await client.images.generate({ ...common, size: '1024x1024' })
    const bytes = Buffer.from(made.data?.[0]?.b64_json ?? '', 'base64')
    const image = await toFile(bytes, 'a.png', { type: 'image/png' })
    const edited = await client.images.edit({ ...common, image: [image, image] })
    expect(edited.data).toHaveLength(1)
  })
})

const deployment = '/openai/deployments/d/images/generations'

describe('the simulator', () => {
  it.each(['//', '/nothing/here', '/v1beta/models/%:generateContent', deployment])(
    'answers a request for %s and continues to serve',
    async (path) => {
      const strange = request({ port: running().port, method: 'POST', path }).end()
      const [response] = await once(strange, 'response')
      response.resume()
      expect((await callB(bodyB('x'))).status).toBe(200)
    },
  )
})
