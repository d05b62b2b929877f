import { afterEach, beforeAll, afterAll, describe, expect, it } from 'vitest'
import { type Simulator, startSimulator } from '../../../src/dev/simulator/startSimulator.ts'
import { at, bodyA, bodyB, callA, callB } from './vendorCalls.ts'

let simulator: Simulator
beforeAll(async () => {
  simulator = await startSimulator({ port: 0, latency: 0, image: 'tiny' })
})
afterEach(() => simulator.reset())
afterAll(() => simulator.close())

async function statuses(prompt: string, calls: number): Promise<number[]> {
  const seen: number[] = []
  for (let call = 0; call < calls; call += 1) {
    seen.push((await callB(simulator, bodyB(prompt))).status)
  }
  return seen
}

describe('faults by directives', () => {
  it('last for ever, unless a number of times is given', async () => {
    expect(await statuses('[sim:500] x', 3)).toEqual([500, 500, 500])
    expect(await statuses('[sim:500 times=2] x', 4)).toEqual([500, 500, 200, 200])
  })

  it('follow each other in the order they are written', async () => {
    const prompt = '[sim:429 times=1][sim:502 times=2][sim:400 times=1] y'
    expect(await statuses(prompt, 5)).toEqual([429, 502, 502, 400, 200])
  })

  it('are counted per prompt', async () => {
    expect(await statuses('[sim:500 times=1] one', 2)).toEqual([500, 200])
    expect(await statuses('[sim:500 times=1] two', 2)).toEqual([500, 200])
  })

  it('that cannot be read are refused with a message', async () => {
    const answer = await callA(simulator, bodyA('[sim:oops] x'))
    expect(answer.status).toBe(400)
    expect(at(answer.json, 'error', 'message')).toMatch(/unknown fault "oops"/)
    expect(simulator.calls().at(-1)?.fault).toBe('bad-directive')
  })
})

describe('faults by script', () => {
  it('are served once each, in order, then all is well', async () => {
    const script = simulator.script({ prompt: 'cat' }, ['500', { kind: '429' }, 'ok', '502'])
    expect(await statuses('a cat', 5)).toEqual([500, 429, 200, 502, 200])
    expect(script.remaining()).toBe(0)
  })

  it('reach only the calls that match', async () => {
    simulator.script({ family: 'B', action: 'generate', prompt: /^dog$/ }, ['500 times=9'])
    simulator.script({ model: 'familya-3-pro-image' }, ['404'])
    expect(await statuses('dogs', 1)).toEqual([200])
    expect(await statuses('dog', 1)).toEqual([500])
    expect((await callA(simulator, bodyA('dog'))).status).toBe(404)
    expect((await callA(simulator, bodyA('dog'))).status).toBe(200)
  })

  it('come before directives, and spare their count', async () => {
    simulator.script({}, ['400'])
    expect(await statuses('[sim:500 times=1] z', 3)).toEqual([400, 500, 200])
  })

  it('end when cancelled, or with the next reset', async () => {
    const script = simulator.script({}, ['500 times=forever'])
    expect(await statuses('x', 2)).toEqual([500, 500])
    expect(script.remaining()).toBe(Infinity)
    script.cancel()
    simulator.script({}, ['502 times=forever'])
    expect(await statuses('x', 1)).toEqual([502])
    simulator.reset()
    expect(await statuses('x', 1)).toEqual([200])
  })

  it('that cannot be read throw where they are written', () => {
    expect(() => simulator.script({}, ['429 after=3'])).toThrow(/fault "429"/)
  })

  it('may hold a call until it is released', async () => {
    simulator.script({ prompt: 'held' }, ['hold'])
    const answer = callB(simulator, bodyB('held'))
    await simulator.waitForCalls(1, { prompt: 'held' })
    await expect.poll(() => simulator.calls()[0]?.billed).toBe(true)
    expect(simulator.calls()[0]?.finishedAt).toBeNull()
    expect(simulator.release({ prompt: 'other' })).toBe(0)
    await expect.poll(() => simulator.release({ prompt: 'held' })).toBe(1)
    expect((await answer).status).toBe(200)
    expect(simulator.release()).toBe(0)
  })
})
