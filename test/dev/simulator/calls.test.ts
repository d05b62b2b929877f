import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { SimulatorCall } from '../../../src/dev/simulator/calls.ts'
import { startSimulator } from '../../../src/dev/simulator/server.ts'
import { bodyA, bodyB, pngOf, useSimulator } from './vendorCalls.ts'

const ended: SimulatorCall[] = []
const log = (call: SimulatorCall): void => void ended.push(call)
const { running, callA, callB } = useSimulator({ image: 'tiny', log })

function sha256(value: string | Buffer): string {
  return createHash('sha256').update(value).digest('hex')
}

describe('the call log', () => {
  it('describes the request, its key and its images', async () => {
    const headers = { 'idempotency-key': 'abc', traceparent: '00-1-1-00' }
    const image = await pngOf(9, 9)
    const body = bodyA('to be logged', [image])
    const answer = await callA(body, { headers })
    const [call] = running().calls()
    expect(call).toMatchObject({
      id: answer.headers.get('x-request-id'),
      family: 'A',
      action: 'edit',
      model: 'familya-3-pro-image',
      prompt: 'to be logged',
      apiKeyDigest: sha256('key').slice(0, 8),
      idempotencyKey: 'abc',
      headers: { traceparent: '00-1-1-00', 'content-type': 'application/json' },
      bodyBytes: JSON.stringify(body).length,
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
    await callB(bodyB('p'.repeat(10_000), { size: '1024x1024' }))
    const body = bodyB('<10000 characters>', { size: '1024x1024' })
    expect(running().calls()[0]?.body).toEqual(body)
  })

  it('says when a client leaves during a call', async () => {
    running().script({}, ['delay ms=5000'])
    const leaving = new AbortController()
    const call = callB(bodyB('leave'), { signal: leaving.signal })
    await expect.poll(() => running().calls()[0]?.billed).toBe(true)
    leaving.abort()
    await expect(call).rejects.toThrow(/aborted/)
    const left = { clientAborted: true, billed: true, status: null }
    await expect.poll(() => running().calls()[0]).toMatchObject(left)
  })

  it('can be filtered by family, model, action and prompt, and awaited', async () => {
    await callA(bodyA('one cat'))
    await callB(bodyB('two cats'))
    const counts = [
      { family: 'A' as const },
      { model: 'familyb-image-2-vip' },
      { action: 'edit' as const },
      { prompt: 'cat' },
      { prompt: 'cats' },
    ].map((matcher) => running().calls(matcher).length)
    expect(counts).toEqual([1, 1, 0, 2, 1])
    expect(await running().waitForCalls(2, { prompt: 'cat' })).toHaveLength(2)
    await expect(running().waitForCalls(2, { family: 'B' }, 30)).rejects.toThrow(/1 of 2/)
  })
})

describe('a simulator that closes', () => {
  it('ends calls that hang, wait or are held, and logs none of them as left by the client', async () => {
    const simulator = await startSimulator({ port: 0, latency: 60_000, image: 'tiny' })
    simulator.script({ prompt: 'hang' }, ['hang'])
    simulator.script({ prompt: 'held' }, ['hold'])
    const headers = { authorization: 'Bearer k', 'content-type': 'application/json' }
    const calls = ['hang', 'held', 'slow'].map((prompt) => {
      const init = { method: 'POST', headers, body: JSON.stringify(bodyB(prompt)) }
      return fetch(`${simulator.url}/v1/images/generations`, init)
    })
    const settled = Promise.allSettled(calls)
    await simulator.waitForCalls(3)
    await expect(startSimulator({ port: simulator.port })).rejects.toThrow('EADDRINUSE')
    await simulator.close()
    expect((await settled).map(({ status }) => status)).toEqual(Array(3).fill('rejected'))
    await expect
      .poll(() => simulator.calls().every(({ finishedAt }) => finishedAt !== null))
      .toBe(true)
    expect(simulator.calls().some(({ clientAborted }) => clientAborted)).toBe(false)
  })
})
