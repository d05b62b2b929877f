import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SimulatorCall } from '../../../src/dev/simulator/calls.ts'
import type { Simulator } from '../../../src/dev/simulator/server.ts'
import { startSimulator } from '../../../src/dev/simulator/server.ts'
import { bodyA, bodyB, callA, callB, imagesOf } from './vendorCalls.ts'

let simulator: Simulator
beforeAll(async () => {
  simulator = await startSimulator({ port: 0, latency: 0, image: 'tiny' })
})
afterAll(() => simulator.close())

/** Waits until the call ends: the client may notice a broken connection before the simulator does. */
async function endedCall(prompt: string): Promise<SimulatorCall | undefined> {
  await expect.poll(() => simulator.calls({ prompt })[0]?.finishedAt).toEqual(expect.any(Number))
  return simulator.calls({ prompt })[0]
}

describe('a fault of the connection', () => {
  it('resets the connection after the request is read', async () => {
    simulator.script({}, ['reset'])
    await expect(callB(simulator, bodyB('reset me'))).rejects.toMatchObject({
      cause: { code: 'ECONNRESET' },
    })
    const ended = await endedCall('reset me')
    expect(ended).toMatchObject({ status: null, clientAborted: false })
  })

  it('never answers; the log says when the client leaves', async () => {
    simulator.script({}, ['hang'])
    const leaving = new AbortController()
    const call = callB(simulator, bodyB('hang'), { signal: leaving.signal })
    await expect.poll(() => simulator.calls().at(-1)?.fault).toBe('hang')
    await sleep(150)
    leaving.abort()
    await expect(call).rejects.toThrow(/aborted/)
    await expect
      .poll(() => simulator.calls().at(-1))
      .toMatchObject({ fault: 'hang', status: null, clientAborted: true })
  })

  it('ends the connection in the middle of the body', async () => {
    simulator.script({}, ['truncated'])
    await expect(callB(simulator, bodyB('cut me'))).rejects.toThrow('terminated')
    const ended = await endedCall('cut me')
    expect(ended).toMatchObject({ status: 200, billed: true, clientAborted: false })
  })

  it('cuts the JSON of a complete answer', async () => {
    simulator.script({}, ['truncated how=json'])
    const answer = await callB(simulator, bodyB('x'))
    expect([answer.status, answer.json]).toEqual([200, { $: 'not JSON' }])
  })

  it('stalls after half of the body', async () => {
    simulator.script({}, ['stall'])
    const leaving = new AbortController()
    const response = await fetch(`${simulator.url}/v1/images/generations`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer k' },
      body: JSON.stringify(bodyB('stall')),
      signal: leaving.signal,
    })
    expect(response.status).toBe(200)
    const text = response.text()
    await sleep(300)
    leaving.abort()
    await expect(text).rejects.toThrow(/aborted/)
  })

  it('sends a correct body slowly', async () => {
    simulator.script({}, ['slow chunks=5 interval=40'])
    const start = performance.now()
    const answer = await callA(simulator, bodyA('x'))
    expect(performance.now() - start).toBeGreaterThanOrEqual(150)
    expect(imagesOf(answer)).toHaveLength(1)
  })

  it.each(['A', 'B'])('sends a huge image of family %s in valid JSON', async (family) => {
    simulator.script({}, ['huge bytes=3000000'])
    const answer = await (family === 'A'
      ? callA(simulator, bodyA('huge'))
      : callB(simulator, bodyB('huge')))
    const [image] = imagesOf(answer)
    expect(image?.length).toBeGreaterThan(2_250_000)
    expect(image?.subarray(1, 4).toString()).toBe('PNG')
  })

  it('answers HTML or an empty body with status 200', async () => {
    simulator.script({}, ['html', 'empty'])
    const html = await callB(simulator, bodyB('x'))
    expect([html.status, html.headers.get('content-type')]).toEqual([200, 'text/html'])
    const empty = await callB(simulator, bodyB('x'))
    expect([empty.status, empty.text]).toEqual([200, ''])
  })

  it('redirects, and counts who follows', async () => {
    simulator.script({}, ['redirect', 'redirect status=307'])
    const found = await callB(simulator, bodyB('x'))
    expect(found.status).toBe(302)
    await fetch(found.headers.get('location') ?? '')
    expect(simulator.strayRequests()).toBe(1)
    expect((await callB(simulator, bodyB('x'))).status).toBe(307)
  })
})
