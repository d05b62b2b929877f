import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Simulator } from '../../../src/dev/simulator/server.ts'
import { startSimulator } from '../../../src/dev/simulator/server.ts'
import type { Answer } from './vendorCalls.ts'
import { at, bodyA, bodyB, callA, callB, imagesOf, partsOf } from './vendorCalls.ts'

let simulator: Simulator
beforeAll(async () => {
  simulator = await startSimulator({ port: 0, latency: 0, image: 'tiny' })
})
afterAll(() => simulator.close())

async function serveA(spec: string): Promise<Answer> {
  simulator.script({}, [spec])
  return callA(simulator, bodyA('x'))
}

async function serveB(spec: string): Promise<Answer> {
  simulator.script({}, [spec])
  return callB(simulator, bodyB('x'))
}

describe('a refusal of the model', () => {
  it('blocks the prompt in family A', async () => {
    const { status, json } = await serveA('block reason=PROHIBITED_CONTENT')
    expect(status).toBe(200)
    expect(json['promptFeedback']).toEqual({ blockReason: 'PROHIBITED_CONTENT' })
    expect(json['candidates']).toBeUndefined()
  })

  it.each([
    ['none', undefined],
    ['empty', { role: 'model' }],
    ['text', { role: 'model', parts: [{ text: expect.any(String) }] }],
  ])('finishes family A for safety with content: %s', async (form, content) => {
    const { json } = await serveA(`finish reason=SAFETY content=${form}`)
    expect(at(json, 'candidates', 0, 'finishReason')).toBe('SAFETY')
    expect(at(json, 'candidates', 0, 'content')).toEqual(content)
    expect(simulator.calls().at(-1)?.billed).toBe(false)
  })

  it('finishes family A without an image, or with text only', async () => {
    const none = await serveA('no-image')
    expect(at(none.json, 'candidates', 0, 'finishReason')).toBe('NO_IMAGE')
    const words = await serveA('text-only')
    expect(at(words.json, 'candidates', 0, 'finishReason')).toBe('STOP')
    expect(partsOf(words).map((part) => Object.keys(part))).toEqual([['text']])
  })

  it('is a moderation error in family B', async () => {
    for (const spec of ['block', 'finish']) {
      const { status, json } = await serveB(spec)
      expect([status, at(json, 'error', 'code')]).toEqual([400, 'moderation_blocked'])
    }
  })
})

describe('an answer with status 200', () => {
  it('can contain no image', async () => {
    expect((await serveB('zero')).json['data']).toEqual([])
    expect(Object.keys((await serveB('zero form=absent')).json)).toEqual(['created'])
    expect((await serveA('zero')).json['candidates']).toEqual([])
  })

  it('can contain two images', async () => {
    expect(imagesOf(await serveA('two'))).toHaveLength(2)
    expect(imagesOf(await serveB('two'))).toHaveLength(2)
  })

  it('can name an image by URL; the simulator counts who fetches it', async () => {
    const url = at((await serveB('url')).json, 'data', 0, 'url')
    expect(at(partsOf(await serveA('url'))[0], 'fileData', 'fileUri')).toBe(url)
    expect(simulator.strayRequests()).toBe(0)
    await fetch(String(url))
    expect(simulator.strayRequests()).toBe(1)
  })

  it('can contain invalid base64', async () => {
    const data = at((await serveB('bad-base64')).json, 'data', 0, 'b64_json')
    expect(data).toMatch(/\*!\*/)
  })

  it.each(['jpeg', 'webp'])('can contain %s that is declared as PNG', async (format) => {
    const a = await serveA(`wrong-mime as=${format}`)
    expect(at(partsOf(a)[1], 'inlineData', 'mimeType')).toBe('image/png')
    const b = await serveB(`wrong-mime as=${format}`)
    expect(b.json['output_format']).toBe('png')
    for (const image of [...imagesOf(a), ...imagesOf(b)]) {
      expect((await sharp(image).metadata()).format).toBe(format)
    }
  })

  it('can contain bytes that are no image, or half an image', async () => {
    const [text] = imagesOf(await serveA('not-image'))
    expect(text?.toString()).toMatch(/^The simulator/)
    const [half] = imagesOf(await serveB('cut-image'))
    expect(half?.subarray(1, 4).toString()).toBe('PNG')
    await expect(sharp(half).toBuffer()).rejects.toThrow('Input buffer')
  })
})
