import { afterEach, beforeAll, afterAll, describe, expect, it } from 'vitest'
import { createRateLimiter } from '../../../src/dev/simulator/rateLimiter.ts'
import { type Simulator, startSimulator } from '../../../src/dev/simulator/startSimulator.ts'
import type { ImageOrder } from '../../../src/dev/simulator/imageOrder.ts'
import { bodyA, bodyB, callA, callB } from './vendorCalls.ts'

let simulator: Simulator
beforeAll(async () => {
  simulator = await startSimulator({ port: 0, latency: 0, image: 'tiny' })
})
afterEach(() => simulator.reset())
afterAll(() => simulator.close())

const order: ImageOrder = {
  family: 'A',
  action: 'generate',
  model: 'm',
  prompt: 'p',
  sources: [],
  width: 16,
  height: 16,
  format: 'png',
  tier: '1K',
  withText: true,
  withImage: true,
  seed: null,
}

describe('a simulated rate limit', () => {
  it('grants so many calls per window, and tells the rest how long is left', async () => {
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

  it('opens a new window when the old one is over', () => {
    const limiter = createRateLimiter()
    limiter.limit({ grants: 1, windowMs: 5000 })
    expect(limiter.check(order, 1_000_000)).toBeNull()
    expect(limiter.check(order, 1_001_500)).toMatchObject({ kind: '429', retryAfter: 4 })
    expect(limiter.check(order, 1_004_999)).toMatchObject({ retryAfter: 1 })
    expect(limiter.check(order, 1_005_000)).toBeNull()
    expect(limiter.check(order, 1_005_001)).toMatchObject({ retryAfter: 5 })
  })

  it('tells the wait exactly in forms that can', () => {
    const limiter = createRateLimiter()
    limiter.limit({ grants: 0, windowMs: 1500, retryAfter: 'retry-info' })
    expect(limiter.check(order, 1000)).toMatchObject({ form: 'retry-info', retryAfter: 1.5 })
  })

  it('refuses a call of several limits by the full one, without counting it in the other', () => {
    const limiter = createRateLimiter()
    limiter.limit({ grants: 2, windowMs: 10_000 })
    const lift = limiter.limit({ model: 'm', grants: 1, windowMs: 10_000 })
    expect(limiter.check(order, 0)).toBeNull()
    expect(limiter.check(order, 1)).not.toBeNull()
    lift()
    expect(limiter.check(order, 2)).toBeNull()
    expect(limiter.check(order, 3)).not.toBeNull()
  })
})
