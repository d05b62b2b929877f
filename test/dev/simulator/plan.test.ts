import { describe, expect, it } from 'vitest'
import { parseFault } from '../../../src/dev/simulator/faults.ts'
import { createPlan } from '../../../src/dev/simulator/plan.ts'
import { succeed } from '../../../src/domain/result.ts'
import { bodyA, bodyB, callStatuses, useSimulator } from './vendorCalls.ts'

const { running, callA, callB } = useSimulator()

describe('the text of a fault', () => {
  it('has fields with numbers, words and quoted texts', () => {
    expect(parseFault('429 retry-after=2.5 form=ms details=false')).toEqual(
      succeed({ kind: '429', retryAfter: 2.5, form: 'ms', details: false }),
    )
    expect(parseFault('400 message="Too many dogs."')).toEqual(
      succeed({ kind: '400', message: 'Too many dogs.' }),
    )
  })

  it.each([
    ['an unknown kind', '[sim:5000]', /unknown fault "5000", one of 429/],
    ['an unknown field', '[sim:429 retry=3]', /fault "429".*retry/],
    ['a value out of range', '[sim:status code=200]', /fault "status": code/],
    ['a field without a value', '[sim:429 soon]', /expected name=value/],
    ['no kind', '[sim: ]', /unknown fault ""/],
  ])('is answered with 400 and the reason when it has %s', async (_what, prompt, message) => {
    for (const answer of [await callA(bodyA(prompt)), await callB(bodyB(prompt))]) {
      const error = { message: expect.stringMatching(message) }
      expect(answer).toMatchObject({ status: 400, json: { error } })
    }
    expect(running().calls()[0]?.fault).toBe('bad-directive')
    expect(() => running().script({}, [prompt.slice(5, -1)])).toThrow(message)
  })
})

describe('the faults of a prompt', () => {
  it.each([
    ['[sim:500] x', [500, 500, 500]],
    ['[sim:500 times=2] x', [500, 500, 200, 200]],
    ['[sim:429 times=1] a [sim:502 times=2][b] [sim:400 times=1]', [429, 502, 502, 400, 200]],
    ['[sim:500 times=1][sim:ok times=1][sim:503]', [500, 200, 503, 503]],
  ])('%s are served in order: %j', async (prompt, statuses) => {
    expect(await callStatuses(callB, prompt, statuses.length)).toEqual(statuses)
  })

  it('are counted per prompt', async () => {
    expect(await callStatuses(callB, '[sim:500 times=1] one', 2)).toEqual([500, 200])
    expect(await callStatuses(callB, '[sim:500 times=1] two', 2)).toEqual([500, 200])
  })
})

describe('scripted faults', () => {
  it('serve one call each that matches, in order', async () => {
    running().script({ family: 'B', action: 'generate', prompt: 'cat' }, [
      '500',
      '429 times=2',
      'ok',
      '502',
    ])
    running().script({ model: 'familya-3-pro-image' }, ['404'])
    expect(await callStatuses(callB, 'ca', 1)).toEqual([200])
    expect(await callStatuses(callB, 'a cat', 6)).toEqual([500, 429, 429, 200, 502, 200])
    expect((await callA(bodyA('a cat'))).status).toBe(404)
    expect((await callA(bodyA('a cat'))).status).toBe(200)
  })

  it('come before directives, which are not counted meanwhile', async () => {
    running().script({}, ['400'])
    expect(await callStatuses(callB, '[sim:500 times=1] z', 3)).toEqual([400, 500, 200])
  })
})

describe('a rate limit', () => {
  it('grants so many calls per window and tells the others how long it lasts', async () => {
    running().limit({ model: 'familyb-image-2-vip', grants: 3, windowMs: 60_000 })
    const answers = await Promise.all(Array.from({ length: 5 }, () => callB(bodyB('crowd'))))
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused.map(({ headers }) => headers.get('retry-after'))).toEqual(['60', '60'])
    expect(
      running()
        .calls()
        .filter(({ fault }) => fault === 'limit'),
    ).toHaveLength(2)
    expect((await callA(bodyA('crowd'))).status).toBe(200)
  })

  it('opens a new window when the old one has ended', () => {
    const plan = createPlan(0)
    plan.limit({ grants: 1, windowMs: 5000 })
    const times = [1_000_000, 1_001_500, 1_004_999, 1_005_000, 1_005_001]
    const refused = times.map((nowMs) => plan.refusedForSeconds('m', nowMs))
    expect(refused).toEqual([undefined, 4, 1, undefined, 5])
  })

  it('does not count a call that another limit refuses', () => {
    const plan = createPlan(0)
    plan.limit({ grants: 2, windowMs: 10_000 })
    plan.limit({ model: 'm', grants: 1, windowMs: 10_000 })
    const models = ['m', 'm', 'other', 'other']
    const refused = models.map((model, nowMs) => plan.refusedForSeconds(model, nowMs) !== undefined)
    expect(refused).toEqual([false, true, false, true])
  })
})
