import { expect, it } from 'vitest'
import { openSimulatedWorld } from '../support/upstream/upstreamWorld.ts'

it('each image that a relay of odd answers makes is delivered', async () => {
  const { call, simulator } = await openSimulatedWorld()
  const seen: string[] = []
  for (let n = 0; n < 14; n += 1) {
    const given = {
      prompt: `A fox ${n}`,
      channel: { extraFields: { response_format: 'b64_json' } },
    }
    const outcome = await call(`${simulator.url}/bad-relay/v1`, 'B', given)
    const made = simulator.calls()[n]?.billed === true ? 'made' : 'not made'
    seen.push(
      `${simulator.calls()[n]?.fault}: ${made}, ${outcome.class} ${outcome.evidence.reason}`,
    )
  }
  expect(seen).toEqual([
    'ok: made, succeeded image',
    'shape: made, succeeded image',
    '403: not made, declined forbidden',
    'shape: made, succeeded image',
    '503-html: not made, unknown server_error',
    'shape: made, succeeded image',
    'shape: made, succeeded image',
    'empty: not made, unknown broken_body',
    'shape: made, succeeded image',
    '502: not made, unknown server_error',
    'shape: made, succeeded image',
    '429: not made, refused rate_limited',
    'shape: made, succeeded image',
    'two: made, succeeded image',
  ])
})
