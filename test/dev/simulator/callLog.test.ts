import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeAll, afterAll, describe, expect, it } from 'vitest'
import type { SimulatorCall } from '../../../src/dev/simulator/calls.ts'
import type { Simulator } from '../../../src/dev/simulator/server.ts'
import { startSimulator } from '../../../src/dev/simulator/server.ts'
import { at, bodyA, bodyB, callA, callB, pngOf } from './vendorCalls.ts'

const ended: SimulatorCall[] = []
let simulator: Simulator
beforeAll(async () => {
  const log = (call: SimulatorCall): void => void ended.push(call)
  simulator = await startSimulator({ port: 0, latency: 0, image: 'tiny', log })
})
afterEach(() => simulator.reset())
afterAll(() => simulator.close())

function sha256(value: string | Buffer): string {
  return createHash('sha256').update(value).digest('hex')
}

describe('the call log', () => {
  it('describes the request, its key and its images', async () => {
    const headers = { 'idempotency-key': 'abc', traceparent: '00-1-1-00' }
    const image = await pngOf(9, 9)
    const body = bodyA('to be logged', [image])
    const answer = await callA(simulator, body, { headers })
    const [call] = simulator.calls()
    expect(call).toMatchObject({
      id: answer.headers.get('x-request-id'),
      family: 'A',
      action: 'edit',
      model: 'familya-3-pro-image',
      prompt: 'to be logged',
      promptSha256: sha256('to be logged'),
      apiKeyPresent: true,
      apiKeyDigest: sha256('key').slice(0, 8),
      idempotencyKey: 'abc',
      headers: { traceparent: '00-1-1-00', 'content-type': 'application/json' },
      bodySha256: sha256(JSON.stringify(body)),
      images: [{ mimeType: 'image/png', sha256: sha256(image), bytes: image.length }],
      fault: null,
      status: 200,
      billed: true,
      clientAborted: false,
    })
    expect(JSON.stringify(call?.headers)).not.toContain('"key"')
    expect(call?.finishedAt).toBeGreaterThanOrEqual(call?.at ?? Infinity)
    expect(ended.at(-1)?.id).toBe(call?.id)
  })

  it('contains the fields of the body but no long text', async () => {
    await callB(simulator, bodyB('p'.repeat(10_000), { size: '1024x1024' }))
    expect(simulator.calls()[0]?.body).toEqual({
      model: 'familyb-image-2-vip',
      prompt: '<10000 characters>',
      size: '1024x1024',
    })
  })

  it('has different ids for two equal calls, which get equal images', async () => {
    const [first, second] = await Promise.all([
      callB(simulator, bodyB('twice')),
      callB(simulator, bodyB('twice')),
    ])
    expect(first.json['data']).toEqual(second.json['data'])
    const ids = simulator.calls({ prompt: 'twice' }).map((call) => call.id)
    expect(new Set(ids).size).toBe(2)
  })

  it('contains refused requests', async () => {
    await callB(simulator, bodyB('x', { colour: 'red' }))
    expect(simulator.calls()[0]).toMatchObject({ fault: 'invalid', status: 400, billed: false })
  })

  it('says when a client leaves during a call', async () => {
    simulator.script({}, ['delay ms=5000'])
    const leaving = new AbortController()
    const call = callB(simulator, bodyB('leave'), { signal: leaving.signal })
    await expect.poll(() => simulator.calls()[0]?.billed).toBe(true)
    leaving.abort()
    await expect(call).rejects.toThrow(/aborted/)
    await expect
      .poll(() => simulator.calls()[0])
      .toMatchObject({ clientAborted: true, billed: true, status: null })
  })

  it('can be filtered by family, model, action and prompt', async () => {
    await callA(simulator, bodyA('one cat'))
    await callB(simulator, bodyB('two cats'))
    expect(simulator.calls({ family: 'A' })).toHaveLength(1)
    expect(simulator.calls({ model: 'familyb-image-2-vip' })).toHaveLength(1)
    expect(simulator.calls({ action: 'edit' })).toHaveLength(0)
    expect(simulator.calls({ prompt: 'cat' })).toHaveLength(2)
    expect(simulator.calls({ prompt: 'cats' })).toHaveLength(1)
  })

  it('can be awaited', async () => {
    const waiting = simulator.waitForCalls(1, { prompt: 'late' })
    await sleep(20)
    await callB(simulator, bodyB('late'))
    expect(await waiting).toHaveLength(1)
    await expect(simulator.waitForCalls(2, { prompt: 'late' }, 30)).rejects.toThrow(/1 of 2/)
  })

  it('is served over HTTP without prompts and bodies', async () => {
    await callB(simulator, bodyB('a secret cat'))
    await callB(simulator, bodyB('a dog'))
    const response = await fetch(`${simulator.url}/__simulator/calls?prompt=cat`)
    const json: unknown = await response.json()
    expect(at(json, 'calls')).toHaveLength(1)
    expect(at(json, 'calls', 0, 'promptSha256')).toMatch(/^[0-9a-f]{64}$/)
    expect(JSON.stringify(json)).not.toContain('secret')
  })

  it('refuses an unknown filter over HTTP', async () => {
    const response = await fetch(`${simulator.url}/__simulator/calls?promt=x`)
    expect(response.status).toBe(400)
  })
})
