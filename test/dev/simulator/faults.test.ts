import { describe, expect, it } from 'vitest'
import { bodyA, bodyB, useSimulator } from './vendorCalls.ts'

const { running, callA, callB } = useSimulator()

// What each fault answers is in test/upstream/outcomes.test.ts, as Darkroom reads it.

describe('a fault', () => {
  it('is billed when it makes an image', async () => {
    running().script({}, ['429', 'zero', 'html', 'url', 'two', 'cut-image', 'truncated how=json'])
    for (let i = 0; i < 7; i += 1) await callB(bodyB('x'))
    const calls = running().calls()
    expect(calls.map((call) => call.billed)).toEqual([false, false, false, true, true, true, true])
  })

  it('carries the texts that its fields give', async () => {
    running().script({}, ['400 message="Too many dogs."', 'moderation stage=output'])
    const error = { message: 'Too many dogs.' }
    expect((await callB(bodyB('x'))).json).toMatchObject({ error })
    const details = { moderation_stage: 'output' }
    expect((await callB(bodyB('x'))).json).toMatchObject({ error: { moderation_details: details } })
  })

  it('says in the details of family A which quota is used up', async () => {
    running().script({}, ['429', '429 details=false'])
    const quota = { '@type': 'type.googleapis.com/google.rpc.QuotaFailure' }
    expect((await callA(bodyA('x'))).json).toMatchObject({
      error: { details: expect.arrayContaining([expect.objectContaining(quota)]) },
    })
    expect((await callA(bodyA('x'))).json['error']).not.toHaveProperty('details')
  })

  it('sends addresses, and the simulator counts who follows them', async () => {
    running().script({}, ['redirect'])
    const { headers } = await callB(bodyB('x'))
    expect(running().strayRequests()).toBe(0)
    await fetch(headers.get('location') ?? '')
    expect(running().strayRequests()).toBe(1)
  })
})
