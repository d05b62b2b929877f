import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createRateLimiter } from '../../../src/dev/simulator/rateLimiter.ts'
import type { Simulator } from '../../../src/dev/simulator/server.ts'
import { startSimulator } from '../../../src/dev/simulator/server.ts'
import { bodyA, bodyB, callA, callB } from './vendorCalls.ts'

let simulator: Simulator
beforeAll(async () => {
  simulator = await startSimulator({ port: 0, latency: 0, image: 'tiny' })
})
afterEach(() => simulator.reset())
afterAll(() => simulator.close())

describe('a simulated rate limit', () => {
  it('grants so many calls per window and tells the others how long it lasts', async () => {
    simulator.limit({ model: 'familyb-image-2-vip', grants: 3, windowMs: 60_000 })
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => callB(simulator, bodyB('crowd'))),
    )
    const refused = answers.filter((answer) => answer.status === 429)
    expect(refused).toHaveLength(2)
    for (const { headers } of refused) expect(headers.get('retry-after')).toBe('60')
    expect(simulator.calls().filter((call) => call.fault === 'limit')).toHaveLength(2)
    expect((await callA(simulator, bodyA('crowd'))).status).toBe(200)
  })

  it('ends with the next reset', async () => {
    simulator.limit({ grants: 0, windowMs: 60_000 })
    expect((await callB(simulator, bodyB('x'))).status).toBe(429)
    simulator.reset()
    expect((await callB(simulator, bodyB('x'))).status).toBe(200)
  })

  it('opens a new window when the old one has ended', () => {
    const limiter = createRateLimiter()
    limiter.limit({ grants: 1, windowMs: 5000 })
    expect(limiter.check('m', 1_000_000)).toBeUndefined()
    expect(limiter.check('m', 1_001_500)).toMatchObject({ kind: '429', retryAfter: 4 })
    expect(limiter.check('m', 1_004_999)).toMatchObject({ retryAfter: 1 })
    expect(limiter.check('m', 1_005_000)).toBeUndefined()
    expect(limiter.check('m', 1_005_001)).toMatchObject({ retryAfter: 5 })
  })

  it('does not count a call that another limit refuses', () => {
    const limiter = createRateLimiter()
    limiter.limit({ grants: 2, windowMs: 10_000 })
    limiter.limit({ model: 'm', grants: 1, windowMs: 10_000 })
    expect(limiter.check('m', 0)).toBeUndefined()
    expect(limiter.check('m', 1)).toBeDefined()
    expect(limiter.check('other', 2)).toBeUndefined()
    expect(limiter.check('other', 3)).toBeDefined()
  })
})
