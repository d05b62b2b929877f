import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Simulator } from '../../../src/dev/simulator/server.ts'
import { startSimulator } from '../../../src/dev/simulator/server.ts'
import { at, bodyA, bodyB, callA, callB } from './vendorCalls.ts'

let simulator: Simulator
beforeAll(async () => {
  simulator = await startSimulator({ port: 0, latency: 0, image: 'tiny' })
})
afterAll(() => simulator.close())

/** Fault, then for each family the status and the error's code in the body; null: there is none. */
const expected: readonly [string, number, string | null, number, string | null][] = [
  ['429', 429, 'RESOURCE_EXHAUSTED', 429, 'rate_limit_exceeded'],
  ['429 code=slow_down', 429, 'RESOURCE_EXHAUSTED', 429, 'slow_down'],
  ['quota', 429, 'RESOURCE_EXHAUSTED', 429, 'insufficient_quota'],
  [
    'quota code=credit_balance_exhausted',
    429,
    'RESOURCE_EXHAUSTED',
    429,
    'credit_balance_exhausted',
  ],
  ['billing', 403, 'PERMISSION_DENIED', 400, 'billing_hard_limit_reached'],
  ['billing status=400', 400, 'FAILED_PRECONDITION', 400, 'billing_hard_limit_reached'],
  ['billing status=403', 403, 'PERMISSION_DENIED', 403, 'billing_hard_limit_reached'],
  ['billing status=429', 429, 'RESOURCE_EXHAUSTED', 429, 'billing_hard_limit_reached'],
  ['400', 400, 'INVALID_ARGUMENT', 400, 'invalid_value'],
  ['401', 401, 'UNAUTHENTICATED', 401, 'invalid_api_key'],
  ['bad-key', 400, 'INVALID_ARGUMENT', 401, 'invalid_api_key'],
  ['403', 403, 'PERMISSION_DENIED', 403, 'invalid_api_key'],
  ['403 about=project', 403, 'PERMISSION_DENIED', 403, 'model_not_found'],
  ['403 about=country', 400, 'FAILED_PRECONDITION', 403, 'unsupported_country_region_territory'],
  ['403 about=html', 403, null, 403, null],
  ['404', 404, 'NOT_FOUND', 404, 'model_not_found'],
  ['moderation', 400, 'INVALID_ARGUMENT', 400, 'moderation_blocked'],
  ['500', 500, 'INTERNAL', 500, null],
  ['502', 502, null, 502, null],
  ['503', 503, 'UNAVAILABLE', 503, 'server_is_overloaded'],
  ['503-html', 503, null, 503, null],
  ['504', 504, 'DEADLINE_EXCEEDED', 504, null],
  ['status code=408', 408, 'UNKNOWN', 408, null],
  ['status code=409', 409, 'ABORTED', 409, null],
]

describe('a simulated error', () => {
  it.each(expected)(
    '%s has the body of each vendor',
    async (spec, statusA, nameA, statusB, codeB) => {
      simulator.script({}, [spec, spec])
      const a = await callA(simulator, bodyA('x'))
      const b = await callB(simulator, bodyB('x'))
      expect([a.status, at(a.json, 'error', 'status') ?? null]).toEqual([statusA, nameA])
      expect([b.status, at(b.json, 'error', 'code') ?? null]).toEqual([statusB, codeB])
      expect(
        simulator
          .calls()
          .slice(-2)
          .map((call) => call.billed),
      ).toEqual([false, false])
    },
  )

  it('of a proxy is HTML', async () => {
    simulator.script({}, ['502', '503-html'])
    for (const status of [502, 503]) {
      const answer = await callB(simulator, bodyB('x'))
      expect([answer.status, answer.headers.get('content-type')]).toEqual([status, 'text/html'])
      expect(answer.text).toMatch(/^<html>/)
    }
  })

  it('of moderation names the stage', async () => {
    simulator.script({}, ['moderation stage=output'])
    const answer = await callB(simulator, bodyB('x'))
    expect(at(answer.json, 'error', 'type')).toBe('image_generation_user_error')
    expect(at(answer.json, 'error', 'moderation_details', 'moderation_stage')).toBe('output')
  })

  it('of family A can be wrapped in an array', async () => {
    simulator.script({}, ['429 array=true'])
    const answer = await callA(simulator, bodyA('x'))
    expect(at(answer.json, 0, 'error', 'status')).toBe('RESOURCE_EXHAUSTED')
  })

  it('of family A can omit the details', async () => {
    simulator.script({}, ['429 details=false', '429'])
    const without = await callA(simulator, bodyA('x'))
    const withDetails = await callA(simulator, bodyA('x'))
    expect(at(without.json, 'error', 'details')).toBeUndefined()
    expect(at(withDetails.json, 'error', 'details', 0, '@type')).toMatch(/QuotaFailure$/)
  })

  it('comes after the asked delay', async () => {
    simulator.script({}, ['503 delay=120'])
    await callB(simulator, bodyB('x'))
    const call = simulator.calls().at(-1)
    expect((call?.finishedAt ?? 0) - (call?.at ?? 0)).toBeGreaterThanOrEqual(115)
  })
})
