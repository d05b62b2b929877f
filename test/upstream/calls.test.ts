import sharp from 'sharp'
import { describe, expect, it } from 'vitest'
import { digestOf } from '../../src/dev/simulator/calls.ts'
import type { Family } from '../../src/domain/models/models.ts'
import { openSimulatedWorld } from '../support/upstream/upstreamWorld.ts'

const families = ['A', 'B'] as const satisfies Family[]

function picture(format: 'png' | 'jpeg' | 'webp'): Promise<Buffer> {
  const create = { width: 40, height: 30, channels: 3, background: 'teal' } as const
  return sharp({ create }).toFormat(format).toBuffer()
}

const models = {
  'familya-3-pro-image': 'upstream-pro',
  'familyb-image-2-vip': 'upstream-vip',
}

describe.each(families)('calls of family %s', (family) => {
  it('name model, key and attempt, send the prompt in any script, and return a whole image [model-4]', async () => {
    const { callFamily, simulator } = await openSimulatedWorld()
    const prompt = 'Ein Leuchtturm 灯台 🗼 "\\\n '.repeat(90_000)
    const given = { models, prompt, call: { upstreamKey: 'task_1.2' } }
    const outcome = await callFamily(family, given)
    if (outcome.class !== 'succeeded') throw new Error(`Not an image but ${outcome.class}`)
    const { bytes } = outcome.image
    expect((await sharp(bytes).metadata()).format).toBe('png')
    expect(outcome.image.mimeType).toBe('image/png')
    const [call] = simulator.calls()
    const evidence = { reason: 'image', httpStatus: 200, upstreamRequestId: call?.id }
    expect(outcome.evidence).toMatchObject(evidence)
    expect(call).toMatchObject({
      model: family === 'A' ? 'upstream-pro' : 'upstream-vip',
      apiKeyDigest: digestOf('secret-key').slice(0, 8),
      idempotencyKey: 'task_1.2',
    })
    expect(JSON.stringify(outcome)).not.toContain('upstream-')
  })

  it('send all source images of an edit unchanged [image-7]', async () => {
    const { callFamily, storeInput, simulator } = await openSimulatedWorld()
    const inputs = await Promise.all(
      (['png', 'jpeg', 'webp'] as const).map(async (format) =>
        storeInput(await picture(format), `image/${format}`),
      ),
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
})

describe('a call of family A', () => {
  it('answers family A in native shape under our names, the image in its place [content-6]', async () => {
    const { callFamily } = await openSimulatedWorld()
    const outcome = await callFamily('A', { models })
    const imagePath = ['candidates', 0, 'content', 'parts', 1, 'inlineData', 'data']
    expect(outcome).toHaveProperty('native.imagePath', imagePath)
    const parts = [
      { text: expect.any(String), thoughtSignature: expect.any(String) },
      {
        inlineData: { mimeType: 'image/png', data: '' },
        thoughtSignature: expect.any(String),
      },
    ]
    expect(outcome).toHaveProperty('native.response', {
      candidates: [{ content: { parts, role: 'model' }, finishReason: 'STOP', index: 0 }],
      usageMetadata: expect.any(Object),
      modelVersion: 'familya-3-pro-image',
      responseId: expect.stringMatching(/^[\w-]{22}$/),
    })
  })

  it('gives one attempt one response id, and another attempt another [content-6]', async () => {
    const { callFamily } = await openSimulatedWorld()
    const idOf = async (upstreamKey: string): Promise<unknown> => {
      const outcome = await callFamily('A', { call: { upstreamKey } })
      return outcome.class === 'succeeded' ? outcome.native.response['responseId'] : undefined
    }
    const [first, second, again] = [await idOf('one'), await idOf('two'), await idOf('one')]
    expect(again).toBe(first)
    expect(second).not.toBe(first)
  })
})
