import { afterEach, beforeAll, afterAll, describe, expect, it } from 'vitest'
import { type Simulator, startSimulator } from '../../../src/dev/simulator/startSimulator.ts'
import { at, bodyB, callB } from './vendorCalls.ts'

let simulator: Simulator
beforeAll(async () => {
  simulator = await startSimulator({ port: 0, latency: 0, image: 'tiny' })
})
afterEach(() => simulator.reset())
afterAll(() => simulator.close())

async function control(
  method: string,
  path: string,
  body?: unknown,
  type = 'application/json',
): Promise<{ status: number; json: unknown }> {
  const response = await fetch(`${simulator.url}/__simulator/${path}`, {
    method,
    headers: { 'content-type': type },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, json: text === '' ? null : JSON.parse(text) }
}

describe('the control endpoint', () => {
  it('scripts faults as text and as objects, and drops them again', async () => {
    const faults = ['429 retry-after=9', { kind: '500', times: 5 }]
    const made = await control('POST', 'faults', { match: { prompt: 'cat' }, faults })
    expect(made).toEqual({ status: 201, json: { scripted: 2 } })
    const first = await callB(simulator, bodyB('a cat'))
    expect([first.status, first.headers.get('retry-after')]).toEqual([429, '9'])
    expect((await callB(simulator, bodyB('a cat'))).status).toBe(500)
    expect((await control('DELETE', 'faults')).status).toBe(204)
    expect((await callB(simulator, bodyB('a cat'))).status).toBe(200)
  })

  it('limits the rate and lifts the limits', async () => {
    await control('POST', 'limits', { grants: 0, windowMs: 1000 })
    expect((await callB(simulator, bodyB('x'))).status).toBe(429)
    await control('DELETE', 'limits')
    expect((await callB(simulator, bodyB('x'))).status).toBe(200)
  })

  it('releases held calls', async () => {
    simulator.script({}, ['hold'])
    const answer = callB(simulator, bodyB('held'))
    await expect
      .poll(async () => (await control('POST', 'release', { prompt: 'held' })).json)
      .toEqual({ released: 1 })
    expect((await answer).status).toBe(200)
  })

  it('lists calls without their texts, and forgets them', async () => {
    await callB(simulator, bodyB('a secret cat'))
    await callB(simulator, bodyB('a dog'))
    const { json } = await control('GET', 'calls?prompt=cat')
    expect(at(json, 'calls')).toHaveLength(1)
    expect(at(json, 'calls', 0, 'promptSha256')).toMatch(/^[0-9a-f]{64}$/)
    expect(JSON.stringify(json)).not.toContain('secret')
    await control('DELETE', 'calls')
    expect(simulator.calls()).toEqual([])
  })

  it.each([
    ['an unknown fault', 'faults', { faults: ['oops'] }, /faults\.0 unknown fault "oops"/],
    ['a misspelt filter', 'faults', { match: { promt: 'x' }, faults: ['500'] }, /promt/],
    ['no faults', 'faults', { faults: [] }, /faults/],
    ['a limit without window', 'limits', { grants: 1 }, /windowMs/],
  ])('refuses %s, saying why', async (_what, path, body, message) => {
    const { status, json } = await control('POST', path, body)
    expect(status).toBe(400)
    expect(at(json, 'error')).toMatch(message)
  })

  it('takes nothing that a foreign page in a browser could send unasked', async () => {
    const { status } = await control('POST', 'faults', { faults: ['500'] }, 'text/plain')
    expect(status).toBe(400)
  })
})
