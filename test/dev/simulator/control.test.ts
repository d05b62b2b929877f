import { request } from 'node:http'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { createSimulatorClient } from '../../support/simulatorClient.ts'
import { bodyB, useSimulator } from './vendorCalls.ts'

const { running, callB } = useSimulator()

describe('a request that controls the simulator', () => {
  it('releases the held calls that match, or all', async () => {
    const client = createSimulatorClient(running().url)
    await client.script({}, ['hold times=3'])
    const answers = ['one', 'two', 'three'].map((prompt) => callB(bodyB(prompt)))
    await client.waitForCalls(3)
    await expect
      .poll(() =>
        running()
          .calls()
          .every(({ billed }) => billed),
      )
      .toBe(true)
    expect(await client.release({ prompt: 'four' })).toBe(0)
    expect(await client.release({ prompt: 'two' })).toBe(1)
    expect((await answers[1])?.status).toBe(200)
    expect(await client.release()).toBe(2)
    await Promise.all(answers)
  })

  it.each([
    ['script', { faults: ['429 soon'] }, /fault "429": expected name=value/],
    ['script', { match: { promt: 'x' }, faults: ['ok'] }, /promt/],
    ['script', {}, /faults/],
    ['limit', { grants: 1 }, /windowMs/],
    ['limit', { grants: -1, windowMs: 5 }, /grants/],
    ['release', { prompt: 'x' }, /prompt/],
    ['release', '{', /expected object/],
  ])('is told why a body of %s cannot be used: %j', async (path, body, reason) => {
    const response = await fetch(`${running().url}/__simulator/${path}`, {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({ error: expect.stringMatching(reason) })
  })

  it('is told why a query of the calls cannot be used', async () => {
    const response = await fetch(`${running().url}/__simulator/calls?promt=x&count=two`)
    expect(response.status).toBe(400)
    expect(await response.text()).toMatch(/promt/)
  })

  it('is refused when its Host or Origin is foreign', async () => {
    const path = '/__simulator/release'
    for (const headers of [{ host: 'evil.example' }, { origin: 'https://evil.example' }]) {
      const options = { port: running().port, method: 'POST', path, headers }
      const [response] = await once(request(options).end(), 'response')
      response.resume()
      expect(response.statusCode).toBe(403)
    }
  })
})
