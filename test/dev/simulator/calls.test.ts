import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { SimulatorCall } from '../../../src/dev/simulator/calls.ts'
import { bodyA, bodyB, pngOf, useSimulator } from './vendorCalls.ts'

const ended: SimulatorCall[] = []
const log = (call: SimulatorCall): void => void ended.push(call)
const { running, callA, callB } = useSimulator({ image: 'tiny', log })

function sha256(value: string | Buffer): string {
  return createHash('sha256').update(value).digest('hex')
}

describe('the call log', () => {
  it('describes the request, its key and its images', async () => {
    const headers = { 'idempotency-key': 'abc', traceparent: '00-1-1-00' }
    const image = await pngOf(9, 9)
    const body = bodyA('to be logged', [image])
    const answer = await callA(body, { headers })
    const [call] = running().calls()
    expect(call).toMatchObject({
      id: answer.headers.get('x-request-id'),
      family: 'A',
      action: 'edit',
      model: 'familya-3-pro-image',
      prompt: 'to be logged',
      apiKeyDigest: sha256('key').slice(0, 8),
      idempotencyKey: 'abc',
      headers: { traceparent: '00-1-1-00', 'content-type': 'application/json' },
      bodyBytes: JSON.stringify(body).length,
      bodySha256: sha256(JSON.stringify(body)),
      images: [{ mimeType: 'image/png', sha256: sha256(image), bytes: image.length }],
      fault: null,
      status: 200,
      billed: true,
      clientAborted: false,
    })
    expect(JSON.stringify(call?.headers)).not.toContain('"key"')
    expect(call?.finishedAt).toBeGreaterThanOrEqual(call?.at ?? Infinity)
    expect(ended.at(-1)?.id).toBe(call?.id)
  })

  it('contains the fields of the body but no long text', async () => {
    await callB(bodyB('p'.repeat(10_000), { size: '1024x1024' }))
    const body = bodyB('<10000 characters>', { size: '1024x1024' })
    expect(running().calls()[0]?.body).toEqual(body)
  })
})
