import { readFileSync } from 'node:fs'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  findDirectives,
  parseFault,
  withoutDirectives,
} from '../../../src/dev/simulator/directives.ts'
import { faultKinds } from '../../../src/dev/simulator/faults.ts'
import type { Simulator } from '../../../src/dev/simulator/server.ts'
import { startSimulator } from '../../../src/dev/simulator/server.ts'
import { fail, succeed } from '../../../src/domain/result.ts'
import { at, bodyA, bodyB, callA, callB } from './vendorCalls.ts'

const readme = readFileSync(
  new URL('../../../src/dev/simulator/README.md', import.meta.url),
  'utf8',
)

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

describe('the text of a fault', () => {
  it('sets fields by hyphenated names and reads numbers as numbers', () => {
    expect(parseFault('429 retry-after=2.5 form=ms skew=-3 details=false')).toEqual(
      succeed({ kind: '429', retryAfter: 2.5, form: 'ms', skew: -3, details: false }),
    )
  })

  it('accepts quoted values with spaces', () => {
    expect(parseFault('400 message="Too many dogs." param=n')).toEqual(
      succeed({ kind: '400', message: 'Too many dogs.', param: 'n' }),
    )
  })

  it.each([
    ['an unknown kind', '[sim:5000]', /unknown fault "5000", one of 429/],
    ['an unknown field', '[sim:429 retry=3]', /fault "429".*retry/],
    ['a value out of range', '[sim:status code=200]', /fault "status": code/],
    ['a field without a value', '[sim:429 soon]', /expected name=value/],
    ['no kind', '[sim: ]', /unknown fault ""/],
  ])('is refused with a message when it has %s', (_what, prompt, message) => {
    expect(findDirectives(prompt)).toEqual(fail(expect.stringMatching(message)))
  })
})

describe('directives in a prompt', () => {
  it('are found in order; other brackets are ignored', () => {
    expect(findDirectives('[sim:500 times=2] a red [sim:ok] bicycle [not one]')).toEqual(
      succeed([{ kind: '500', times: 2 }, { kind: 'ok' }]),
    )
  })

  it('are removed from the drawn text', () => {
    expect(withoutDirectives('a [sim:429 retry-after=3]bicycle [2]').trim()).toBe('a  bicycle [2]')
  })

  it('are described in the README, every kind and no other', () => {
    const rows = readme.matchAll(/^\| `([a-z0-9-]+)` +\|/gm)
    expect(new Set(Array.from(rows, ([, kind]) => kind))).toEqual(new Set(faultKinds))
  })

  it('are valid in the examples of the README', () => {
    const examples = findDirectives(readme)
    expect(examples).toEqual(succeed(expect.any(Array)))
    expect(examples.ok ? examples.value.length : 0).toBeGreaterThan(3)
  })

  it('serve every call, unless a number of times is given', async () => {
    expect(await statuses('[sim:500] x', 3)).toEqual([500, 500, 500])
    expect(await statuses('[sim:500 times=2] x', 4)).toEqual([500, 500, 200, 200])
  })

  it('follow each other in the order in which they are written', async () => {
    const prompt = '[sim:429 times=1][sim:502 times=2][sim:400 times=1] y'
    expect(await statuses(prompt, 5)).toEqual([429, 502, 502, 400, 200])
  })

  it('are counted per prompt', async () => {
    expect(await statuses('[sim:500 times=1] one', 2)).toEqual([500, 200])
    expect(await statuses('[sim:500 times=1] two', 2)).toEqual([500, 200])
  })

  it('are answered with 400 and a message when they cannot be read', async () => {
    const answer = await callA(simulator, bodyA('[sim:oops] x'))
    expect(answer.status).toBe(400)
    expect(at(answer.json, 'error', 'message')).toMatch(/unknown fault "oops"/)
    expect(simulator.calls().at(-1)?.fault).toBe('bad-directive')
  })
})

describe('scripted faults', () => {
  it('serve one call each, in order', async () => {
    simulator.script({ prompt: 'cat' }, ['500', '429', 'ok', '502'])
    expect(await statuses('a cat', 5)).toEqual([500, 429, 200, 502, 200])
  })

  it('serve only the calls that match', async () => {
    simulator.script({ family: 'B', action: 'generate', prompt: 'dog' }, ['500 times=9'])
    simulator.script({ model: 'familya-3-pro-image' }, ['404'])
    expect(await statuses('do', 1)).toEqual([200])
    expect(await statuses('dogs', 1)).toEqual([500])
    expect((await callA(simulator, bodyA('dog'))).status).toBe(404)
    expect((await callA(simulator, bodyA('dog'))).status).toBe(200)
  })

  it('come before directives, which are not counted meanwhile', async () => {
    simulator.script({}, ['400'])
    expect(await statuses('[sim:500 times=1] z', 3)).toEqual([400, 500, 200])
  })

  it('end with the next reset', async () => {
    simulator.script({}, ['500 times=forever'])
    expect(await statuses('x', 2)).toEqual([500, 500])
    simulator.reset()
    expect(await statuses('x', 1)).toEqual([200])
  })

  it('throw where they are written when they cannot be read', () => {
    expect(() => simulator.script({}, ['429 after=3'])).toThrow(/fault "429"/)
  })

  it('can hold a call until it is released', async () => {
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
