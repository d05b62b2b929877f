import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Simulator } from '../../../src/dev/simulator/server.ts'
import { startSimulator } from '../../../src/dev/simulator/server.ts'
import type { Answer } from './vendorCalls.ts'
import { at, bodyA, bodyB, callA, callB } from './vendorCalls.ts'

let simulator: Simulator
beforeAll(async () => {
  simulator = await startSimulator({ port: 0, latency: 0, image: 'tiny' })
})
afterAll(() => simulator.close())

async function refused(spec: string, family: 'A' | 'B' = 'B'): Promise<Answer> {
  simulator.script({}, [spec])
  return family === 'A' ? callA(simulator, bodyA('x')) : callB(simulator, bodyB('x'))
}

function retryAfter({ headers }: Answer): string | null {
  return headers.get('retry-after')
}

describe('the wait that a simulated 429 asks for', () => {
  it('is one second by default', async () => {
    expect(retryAfter(await refused('429'))).toBe('1')
  })

  it('can be a year', async () => {
    expect(retryAfter(await refused('429 retry-after=31536000'))).toBe('31536000')
  })

  it('can be missing or unreadable', async () => {
    expect(retryAfter(await refused('429 form=none'))).toBeNull()
    expect(retryAfter(await refused('429 form=garbage'))).toBe('soon')
  })

  it('can be in milliseconds', async () => {
    const answer = await refused('429 retry-after=1.5 form=ms')
    expect(answer.headers.get('retry-after-ms')).toBe('1500')
    expect(retryAfter(answer)).toBeNull()
  })

  it.each([0, -7200, 3600])('can be a date by a clock that is %i s ahead', async (skew) => {
    const answer = await refused(`429 retry-after=30 form=date skew=${skew}`)
    const date = Date.parse(answer.headers.get('date') ?? '')
    expect(Date.parse(retryAfter(answer) ?? '') - date).toBe(30_000)
    expect(Math.abs(date - (Date.now() + skew * 1000))).toBeLessThan(3000)
  })

  it('can be RetryInfo in family A; family B sends seconds instead', async () => {
    const a = await refused('429 retry-after=0.9 form=retry-info', 'A')
    expect(at(a.json, 'error', 'details', 2)).toEqual({
      '@type': 'type.googleapis.com/google.rpc.RetryInfo',
      retryDelay: '0.9s',
    })
    expect(retryAfter(a)).toBeNull()
    expect(retryAfter(await refused('429 retry-after=2 form=retry-info'))).toBe('2')
  })

  it('is in a 503 only when the fault asks for it', async () => {
    expect(retryAfter(await refused('503'))).toBeNull()
    expect(retryAfter(await refused('503 retry-after=7'))).toBe('7')
    expect(retryAfter(await refused('503-html retry-after=8', 'A'))).toBe('8')
  })
})
