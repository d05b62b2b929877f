import { once } from 'node:events'
import { request } from 'node:http'
import { describe, expect, it } from 'vitest'
import { startSimulator } from '../../../src/dev/simulator/server.ts'
import { bodyA, bodyB, callA, callB } from './vendorCalls.ts'

describe('the simulator', () => {
  it('closes while calls hang, wait or are held, and logs none of them as left by the client', async () => {
    const simulator = await startSimulator({ port: 0, latency: 60_000, image: 'tiny' })
    simulator.script({ prompt: 'hang' }, ['hang'])
    simulator.script({ prompt: 'held' }, ['hold'])
    const calls = ['hang', 'held', 'slow'].map((prompt) => callB(simulator, bodyB(prompt)))
    const settled = Promise.allSettled(calls)
    await simulator.waitForCalls(3)
    await simulator.close()
    const results = await settled
    expect(results.map((result) => result.status)).toEqual(['rejected', 'rejected', 'rejected'])
    await expect
      .poll(() => simulator.calls().map((call) => call.finishedAt !== null))
      .toEqual([true, true, true])
    expect(simulator.calls().some((call) => call.clientAborted)).toBe(false)
    await expect(fetch(simulator.url)).rejects.toThrow('fetch failed')
  })

  it('answers after the configured latency', async () => {
    const latency = { minMs: 80, maxMs: 120 }
    const simulator = await startSimulator({ port: 0, latency, image: 'tiny' })
    try {
      await callA(simulator, bodyA('x'))
      const [call] = simulator.calls()
      expect((call?.finishedAt ?? 0) - (call?.at ?? 0)).toBeGreaterThanOrEqual(75)
    } finally {
      await simulator.close()
    }
  })

  it('rejects when the port is in use', async () => {
    const first = await startSimulator({ port: 0 })
    try {
      await expect(startSimulator({ port: first.port })).rejects.toMatchObject({
        code: 'EADDRINUSE',
      })
    } finally {
      await first.close()
    }
  })

  it.each(['//', '/nothing/here', '/v1beta/models/%:generateContent'])(
    'answers a request for %s and continues to serve',
    async (path) => {
      const simulator = await startSimulator({ port: 0, latency: 0, image: 'tiny' })
      try {
        const strange = request({ port: simulator.port, method: 'POST', path }).end()
        const [response] = await once(strange, 'response')
        response.resume()
        expect((await callB(simulator, bodyB('x'))).status).toBe(200)
      } finally {
        await simulator.close()
      }
    },
  )
})
