import OpenAI, { toFile } from 'openai'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Simulator } from '../../../src/dev/simulator/server.ts'
import { startSimulator } from '../../../src/dev/simulator/server.ts'
import { at, blobOf, bodyB, callB, editB, imagesOf, pngOf } from './vendorCalls.ts'

let simulator: Simulator
beforeAll(async () => {
  simulator = await startSimulator({ port: 0, latency: 0 })
})
afterAll(() => simulator.close())

describe('the simulated family B', () => {
  it('answers a generation with one PNG of the asked size', async () => {
    const body = bodyB('a heron', { size: '2048x2048', quality: 'low' })
    const answer = await callB(simulator, body)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-request-id')).toMatch(/^req_/)
    expect(answer.headers.get('openai-processing-ms')).toMatch(/^\d+$/)
    const [image, ...more] = imagesOf(answer)
    expect(more).toEqual([])
    expect(await sharp(image).metadata()).toMatchObject({
      width: 2048,
      height: 2048,
      format: 'png',
    })
    expect(answer.json).toMatchObject({
      created: expect.any(Number),
      size: '2048x2048',
      quality: 'low',
      output_format: 'png',
      background: 'opaque',
      usage: {
        input_tokens: 2,
        output_tokens: 397,
        total_tokens: 399,
        input_tokens_details: { text_tokens: 2, image_tokens: 0 },
        output_tokens_details: { text_tokens: 0, image_tokens: 397 },
      },
    })
  })

  it.each(['png', 'jpeg', 'webp'])('answers in the output format %s', async (format) => {
    const answer = await callB(simulator, bodyB('formats', { output_format: format }))
    const [image] = imagesOf(answer)
    expect((await sharp(image).metadata()).format).toBe(format)
    expect(at(answer.json, 'output_format')).toBe(format)
  })

  it('answers as many different images as the request asks for', async () => {
    const images = imagesOf(await callB(simulator, bodyB('three of them', { n: 3 })))
    expect(images).toHaveLength(3)
    expect(new Set(images.map((image) => image.toString('base64'))).size).toBe(3)
  })

  it.each([
    ['a side that is not a multiple of 16', { size: '1000x1024' }, 'size', 'invalid_value'],
    ['too few pixels', { size: '512x512' }, 'size', 'invalid_value'],
    ['a shape that is too long', { size: '3840x1024' }, 'size', 'invalid_value'],
    ['a size of the other family', { size: '1K' }, 'size', 'invalid_value'],
    ['an unknown quality', { quality: 'best' }, 'quality', 'invalid_value'],
    ['an unknown parameter', { colour: 'red' }, 'colour', 'unknown_parameter'],
    ['eleven images', { n: 11 }, 'n', 'invalid_value'],
  ])("refuses %s in the vendor's error format", async (_what, more, param, code) => {
    const answer = await callB(simulator, bodyB('x', more))
    expect(answer.status).toBe(400)
    expect(answer.json).toEqual({
      error: { message: expect.any(String), type: 'invalid_request_error', param, code },
    })
  })

  it('refuses a generation that is not JSON with 400', async () => {
    const answer = await callB(simulator, bodyB('x'), { headers: { 'content-type': 'text/plain' } })
    expect(answer.status).toBe(400)
    expect(at(answer.json, 'error', 'code')).toBe('unsupported_content_type')
  })

  it('refuses a call without a bearer key', async () => {
    const answer = await callB(simulator, bodyB('x'), { headers: { authorization: 'Basic key' } })
    expect(answer.status).toBe(401)
    expect(at(answer.json, 'error', 'code')).toBe('invalid_api_key')
  })

  it.each(['image', 'image[]'])('edits the images of the form field %s', async (field) => {
    const sources = [blobOf(await pngOf(20, 20)), blobOf(await pngOf(30, 20, '#cc3333'))]
    const fields = { model: 'familyb-image-2-vip', prompt: `edit by ${field}`, n: '1' }
    const answer = await editB(simulator, fields, sources, field)
    expect(answer.status).toBe(200)
    expect(at(answer.json, 'usage', 'input_tokens_details', 'image_tokens')).toBe(2048)
    expect(imagesOf(answer)).toHaveLength(1)
    const call = simulator.calls().at(-1)
    expect(call).toMatchObject({ action: 'edit', body: fields })
    expect(call?.images.map((image) => image.mimeType)).toEqual(['image/png', 'image/png'])
  })

  it.each([
    ['no image', async () => [], 'missing_required_parameter'],
    [
      'a part without an image type',
      async () => [blobOf(await pngOf(8, 8), 'application/octet-stream')],
      'invalid_image_file',
    ],
    [
      'a part of a type other than the declared one',
      async () => [blobOf(await pngOf(8, 8), 'image/webp')],
      'invalid_image_file',
    ],
    [
      'seventeen images',
      async () => Array.from({ length: 17 }, () => blobOf(Buffer.from('x'))),
      'array_above_max_length',
    ],
  ])('refuses an edit with %s', async (_what, images, code) => {
    const fields = { model: 'familyb-image-2-vip', prompt: 'x' }
    const answer = await editB(simulator, fields, await images())
    expect(answer.status).toBe(400)
    expect(at(answer.json, 'error', 'code')).toBe(code)
  })

  it('refuses a form that is cut off', async () => {
    const response = await fetch(`${simulator.url}/v1/images/edits`, {
      method: 'POST',
      headers: { authorization: 'Bearer k', 'content-type': 'multipart/form-data; boundary=b' },
      body: '--b\r\nContent-Disposition: form-data; name="prompt"\r\n\r\nhalf a pro',
    })
    expect(response.status).toBe(400)
  })

  it('serves generations and edits of the official OpenAI client', async () => {
    const client = new OpenAI({ apiKey: 'key', baseURL: `${simulator.url}/v1`, maxRetries: 0 })
    const common = { model: 'familyb-image-2-web', prompt: 'by the client' }
    const made = await client.images.generate({ ...common, size: '1024x1024' })
    const image = await toFile(Buffer.from(made.data?.[0]?.b64_json ?? '', 'base64'), 'a.png', {
      type: 'image/png',
    })
    const edited = await client.images.edit({ ...common, image: [image, image] })
    expect(edited.usage?.input_tokens_details.image_tokens).toBe(2048)
    expect(edited.data?.[0]?.b64_json).not.toBe(made.data?.[0]?.b64_json)
  })
})
