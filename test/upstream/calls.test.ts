import { describe, expect, it } from 'vitest'
import sharp from 'sharp'
import type { ImageRequest } from '../../src/domain/imageRequest.ts'
import type { Family } from '../../src/domain/models.ts'
import { collect } from '../support/byteStreams.ts'
import { digestOf } from '../../src/dev/simulator/callLog.ts'
import { openSimulatedWorld } from '../support/upstream/upstreamWorld.ts'

const families = ['A', 'B'] as const satisfies Family[]

function picture(format: 'png' | 'jpeg' | 'webp'): Promise<Buffer> {
  const create = { width: 40, height: 30, channels: 3, background: 'teal' } as const
  return sharp({ create }).toFormat(format).toBuffer()
}

describe('calls of the upstream models', () => {
  it.each(families)('brings a generated image back whole from family %s', async (family) => {
    const { callFamily, simulator } = await openSimulatedWorld()
    const outcome = await callFamily(family)
    if (outcome.class !== 'succeeded') throw new Error(`Not an image but ${outcome.class}`)
    const bytes = await collect(outcome.image.open())
    const { format, width, height } = await sharp(bytes).metadata()
    expect(format).toBe('png')
    expect(outcome.image).toMatchObject({ mimeType: 'image/png', bytes: bytes.length })
    expect([outcome.image.width, outcome.image.height]).toEqual([width, height])
    expect((await collect(outcome.image.open())).equals(bytes)).toBe(true)
    expect(outcome.evidence).toMatchObject({
      reason: 'image',
      httpStatus: 200,
      upstreamRequestId: simulator.calls()[0]?.id,
    })
  })

  it.each(families)('sends all source images of an edit unchanged to family %s', async (family) => {
    const { callFamily, storeInput, simulator } = await openSimulatedWorld()
    const formats = ['png', 'jpeg', 'webp'] as const
    const files = await Promise.all(formats.map(picture))
    const inputs = await Promise.all(
      files.map((file, at) => storeInput(file, `image/${formats[at] ?? 'png'}`)),
    )
    const outcome = await callFamily(family, { request: { action: 'edit', inputs } })
    expect(outcome.class).toBe('succeeded')
    const [call] = simulator.calls()
    expect(call?.action).toBe('edit')
    expect(call?.images).toEqual(
      inputs.map(({ mimeType, bytes, sha256 }) => ({ mimeType, bytes, sha256 })),
    )
    expect(call?.headers['transfer-encoding']).toBeUndefined()
    expect(call?.headers['content-length']).toBe(String(call?.bodyBytes))
  })

  it.each(families)('names the upstream model, the key and the attempt to family %s', async (f) => {
    const { callFamily, simulator } = await openSimulatedWorld()
    const models = {
      'familya-3-pro-image': 'upstream-pro',
      'familyb-image-2-vip': 'upstream-vip',
    }
    await callFamily(f, { models, call: { idempotencyKey: 'task_1.2' } })
    const [call] = simulator.calls()
    expect(call?.model).toBe(f === 'A' ? 'upstream-pro' : 'upstream-vip')
    expect(call?.apiKeyDigest).toBe(digestOf('secret-key').slice(0, 8))
    expect(call?.idempotencyKey).toBe('task_1.2')
  })

  it.each(families)('carries a prompt of 3 MB in any script to family %s', async (family) => {
    const { callFamily, simulator } = await openSimulatedWorld()
    const prompt = 'Ein Leuchtturm 灯台 🗼 "\\\n '.repeat(90_000)
    const outcome = await callFamily(family, { prompt })
    expect(outcome.class).toBe('succeeded')
    expect(simulator.calls()[0]?.promptSha256).toBe(digestOf(prompt))
  })

  it.each([
    ['A', { size: '4K', aspectRatio: '16:9' }],
    ['B', { size: '2048x2048', quality: 'high' }],
  ] satisfies [Family, Partial<ImageRequest>][])(
    'asks family %s for what the request asks for: %j',
    async (family, request) => {
      const { callFamily, simulator } = await openSimulatedWorld()
      await callFamily(family, { request })
      expect(simulator.calls()[0]?.body).toMatchObject(
        family === 'A'
          ? { generationConfig: { imageConfig: { imageSize: '4K', aspectRatio: '16:9' } } }
          : { size: '2048x2048', quality: 'high', n: 1, output_format: 'png' },
      )
    },
  )

  it('answers family B in exactly the shape of the synchronous response', async () => {
    const { callFamily } = await openSimulatedWorld()
    const outcome = await callFamily('B', { request: { size: '1024x1024', quality: 'low' } })
    const details = { text_tokens: expect.any(Number), image_tokens: expect.any(Number) }
    expect(outcome).toHaveProperty('native', {
      response: {
        created: expect.any(Number),
        data: [{ b64_json: '' }],
        size: '1024x1024',
        quality: 'low',
        usage: {
          input_tokens: expect.any(Number),
          output_tokens: expect.any(Number),
          total_tokens: expect.any(Number),
          input_tokens_details: details,
          output_tokens_details: details,
        },
      },
      imagePath: ['data', 0, 'b64_json'],
    })
  })

  it('answers family A in native shape under our names, the image in its place', async () => {
    const { callFamily } = await openSimulatedWorld()
    const models = { 'familya-3-pro-image': 'secret-upstream-name' }
    const outcome = await callFamily('A', { models })
    expect(outcome).toHaveProperty('native.imagePath', [
      'candidates',
      0,
      'content',
      'parts',
      1,
      'inlineData',
      'data',
    ])
    expect(outcome).toHaveProperty('native.response', {
      candidates: [
        {
          content: {
            parts: [
              { text: expect.any(String) },
              {
                inlineData: { mimeType: 'image/png', data: '' },
                thoughtSignature: expect.any(String),
              },
            ],
            role: 'model',
          },
          finishReason: 'STOP',
          index: 0,
        },
      ],
      usageMetadata: expect.any(Object),
      modelVersion: 'familya-3-pro-image',
      responseId: expect.stringMatching(/^[\w-]{22}$/),
    })
    expect(JSON.stringify(outcome)).not.toContain('secret-upstream-name')
  })

  it('gives one attempt one response id, and another attempt another', async () => {
    const { callFamily } = await openSimulatedWorld()
    const idOf = async (idempotencyKey: string): Promise<unknown> => {
      const outcome = await callFamily('A', { call: { idempotencyKey } })
      return outcome.class === 'succeeded' ? outcome.native.response['responseId'] : undefined
    }
    const [first, second, again] = [await idOf('one'), await idOf('two'), await idOf('one')]
    expect(again).toBe(first)
    expect(second).not.toBe(first)
  })
})
