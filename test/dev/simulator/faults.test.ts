import { describe, expect, it } from 'vitest'
import { faultTable } from '../../../src/dev/simulator/faults.ts'
import { bodyA, bodyB, imagesOf, useSimulator } from './vendorCalls.ts'

const { running, callA, callB } = useSimulator()

const errorA = (code: number, status: string) => ({
  status: code,
  json: { error: { code, status } },
})
const errorB = (status: number, code: string | null) => ({ status, json: { error: { code } } })
const page = (status: number) => ({ status, text: expect.stringMatching(/^<html>/) })
const answer = (json: object) => ({ status: 200, json })
const candidate = (fields: object) => answer({ candidates: [fields] })
const parts = (...parts: readonly object[]) =>
  candidate({ finishReason: 'STOP', content: { parts } })
const text = { text: expect.any(String) }
const imageA = (data: RegExp) => ({
  inlineData: { mimeType: 'image/png', data: expect.stringMatching(data) },
})
const imageB = (data: RegExp) => ({ b64_json: expect.stringMatching(data) })
const png = imageA(/^iVBOR/)
const pngB = imageB(/^iVBOR/)
const stray = expect.stringMatching(/^http:\/\/127.0.0.1:\d+\/elsewhere\//)
const moderated = errorB(400, 'moderation_blocked')
const country = 'unsupported_country_region_territory'

/** The answers of family A and of family B to a call with a fault. */
const expected: readonly [string, object, object][] = [
  ['429', errorA(429, 'RESOURCE_EXHAUSTED'), errorB(429, 'rate_limit_exceeded')],
  ['429 code=slow_down', errorA(429, 'RESOURCE_EXHAUSTED'), errorB(429, 'slow_down')],
  ['quota', errorA(429, 'RESOURCE_EXHAUSTED'), errorB(429, 'insufficient_quota')],
  ['quota code=no_credit', errorA(429, 'RESOURCE_EXHAUSTED'), errorB(429, 'no_credit')],
  ['billing', errorA(403, 'PERMISSION_DENIED'), errorB(400, 'billing_hard_limit_reached')],
  [
    'billing status=400',
    errorA(400, 'FAILED_PRECONDITION'),
    errorB(400, 'billing_hard_limit_reached'),
  ],
  [
    'billing status=429',
    errorA(429, 'RESOURCE_EXHAUSTED'),
    errorB(429, 'billing_hard_limit_reached'),
  ],
  ['400', errorA(400, 'INVALID_ARGUMENT'), errorB(400, 'invalid_value')],
  ['401', errorA(401, 'UNAUTHENTICATED'), errorB(401, 'invalid_api_key')],
  ['bad-key', errorA(400, 'INVALID_ARGUMENT'), errorB(401, 'invalid_api_key')],
  ['403', errorA(403, 'PERMISSION_DENIED'), errorB(403, 'invalid_api_key')],
  ['403 about=project', errorA(403, 'PERMISSION_DENIED'), errorB(403, 'model_not_found')],
  ['403 about=country', errorA(400, 'FAILED_PRECONDITION'), errorB(403, country)],
  ['403 about=html', page(403), page(403)],
  ['404', errorA(404, 'NOT_FOUND'), errorB(404, 'model_not_found')],
  ['moderation', errorA(400, 'INVALID_ARGUMENT'), moderated],
  ['500', errorA(500, 'INTERNAL'), errorB(500, null)],
  ['502', page(502), page(502)],
  ['503', errorA(503, 'UNAVAILABLE'), errorB(503, 'server_is_overloaded')],
  ['503-html', page(503), page(503)],
  ['504', errorA(504, 'DEADLINE_EXCEEDED'), page(504)],
  ['status code=409', errorA(409, 'ABORTED'), errorB(409, null)],
  ['status code=599', errorA(599, 'UNKNOWN'), errorB(599, null)],
  ['ok', parts(text, png), answer({ data: [pngB] })],
  ['delay ms=5', parts(text, png), answer({ data: [pngB] })],
  ['block', answer({ promptFeedback: { blockReason: 'SAFETY' } }), moderated],
  ['finish reason=SAFETY', candidate({ finishReason: 'SAFETY' }), moderated],
  ['finish content=empty', candidate({ content: { role: 'model' } }), moderated],
  ['finish content=text', candidate({ content: { parts: [text] } }), moderated],
  ['text-only', parts(text), answer({ data: [] })],
  ['no-image', candidate({ finishReason: 'NO_IMAGE' }), answer({ data: [] })],
  ['zero', answer({ candidates: [] }), answer({ data: [] })],
  ['two', parts(text, png, png), answer({ data: [pngB, pngB] })],
  ['url', parts({ fileData: { fileUri: stray } }), answer({ data: [{ url: stray }] })],
  ['bad-base64', parts(text, imageA(/\*!\*/)), answer({ data: [imageB(/\*!\*/)] })],
  ['wrong-mime', parts(text, imageA(/^\/9j/)), answer({ data: [imageB(/^\/9j/)] })],
  ['wrong-mime as=webp', parts(text, imageA(/^UklGR/)), answer({ data: [imageB(/^UklGR/)] })],
  ['not-image', parts(text, imageA(/^VGhlIHNpb/)), answer({ data: [imageB(/^VGhlIHNpb/)] })],
  ['cut-image', parts(text, png), answer({ output_format: 'png', data: [pngB] })],
  ['html', page(200), page(200)],
  ['empty', { status: 200, text: '' }, { status: 200, text: '' }],
  ['redirect', { status: 302 }, { status: 302 }],
  ['redirect status=307', { status: 307 }, { status: 307 }],
  ['truncated how=json', answer({ $: 'not JSON' }), answer({ $: 'not JSON' })],
]

/** Faults of which the tests below, and those of `control.test.ts`, say more than an answer. */
const others = ['reset', 'hang', 'hold', 'slow', 'stall', 'truncated', 'huge']

/** Awaits the rejection of a call that the test itself ends. */
async function leave(prompt: string, fault: string) {
  const leaving = new AbortController()
  running().script({ prompt }, [fault])
  const call = callB(bodyB(prompt), { signal: leaving.signal })
  await expect.poll(() => running().calls({ prompt })[0]?.fault).toBe(fault)
  setTimeout(() => leaving.abort(), 100)
  await expect(call).rejects.toThrow(/aborted/)
  await expect.poll(() => running().calls({ prompt })[0]?.finishedAt).toEqual(expect.any(Number))
  return running().calls({ prompt })[0]
}

describe('a fault', () => {
  it.each(expected)('%s is answered as each vendor does', async (spec, inA, inB) => {
    running().script({}, [spec, spec])
    expect(await callA(bodyA('x'))).toMatchObject(inA)
    expect(await callB(bodyB('x'))).toMatchObject(inB)
  })

  it('cuts the image', async () => {
    running().script({}, ['cut-image', 'ok'])
    const [half] = imagesOf(await callB(bodyB('x')))
    const [whole] = imagesOf(await callB(bodyB('x')))
    expect(half).toEqual(whole?.subarray(0, Math.floor(whole.length / 2)))
  })

  it('of every kind has a test', () => {
    const tested = expected.map(([spec]) => spec.split(' ')[0])
    expect(new Set([...tested, ...others])).toEqual(new Set(faultTable.map(({ kind }) => kind)))
  })

  it('is billed when it makes an image', async () => {
    running().script({}, ['429', 'zero', 'html', 'url', 'two', 'cut-image', 'truncated how=json'])
    for (let i = 0; i < 7; i += 1) await callB(bodyB('x'))
    const billed = running()
      .calls()
      .map((call) => call.billed)
    expect(billed).toEqual([false, false, false, true, true, true, true])
  })

  it.each([
    ['429', 'retry-after', '1'],
    ['429 retry-after=31536000', 'retry-after', '31536000'],
    ['429 form=none', 'retry-after', null],
    ['429 form=garbage', 'retry-after', 'soon'],
    ['429 retry-after=1.5 form=ms', 'retry-after-ms', '1500'],
    ['429 retry-after=2 form=retry-info', 'retry-after', '2'],
    ['503', 'retry-after', null],
    ['503 retry-after=7', 'retry-after', '7'],
    ['503-html retry-after=8', 'retry-after', '8'],
  ])('%s sets the header %s to %s', async (spec, header, value) => {
    running().script({}, [spec])
    expect((await callB(bodyB('x'))).headers.get(header)).toBe(value)
  })

  it('can name a date', async () => {
    running().script({}, ['429 retry-after=30 form=date'])
    const { headers } = await callB(bodyB('x'))
    const date = Date.parse(headers.get('date') ?? '')
    expect(Date.parse(headers.get('retry-after') ?? '') - date).toBe(30_000)
  })

  it('says in the details of family A how long to wait and which quota is used up', async () => {
    running().script({}, [
      '429 retry-after=0.9 form=retry-info',
      '429 details=false',
      '429 array=true',
    ])
    const { json, headers } = await callA(bodyA('x'))
    const types = ['QuotaFailure', 'Help', 'RetryInfo'].map((name) => ({
      '@type': `type.googleapis.com/google.rpc.${name}`,
    }))
    expect(json).toMatchObject({ error: { details: types } })
    expect(json).toMatchObject({ error: { details: [{}, {}, { retryDelay: '0.9s' }] } })
    expect(headers.get('retry-after')).toBeNull()
    expect((await callA(bodyA('x'))).json['error']).not.toHaveProperty('details')
    expect((await callA(bodyA('x'))).json).toMatchObject({ $: [{ error: { code: 429 } }] })
  })

  it('carries the texts that its fields give', async () => {
    running().script({}, ['400 message="Too many dogs."', 'moderation stage=output'])
    const error = { message: 'Too many dogs.' }
    expect((await callB(bodyB('x'))).json).toMatchObject({ error })
    const details = { moderation_stage: 'output' }
    expect((await callB(bodyB('x'))).json).toMatchObject({ error: { moderation_details: details } })
  })

  it('comes after the asked delay', async () => {
    running().script({}, ['503 delay=120', 'ok delay=120'])
    await callB(bodyB('x'))
    await callB(bodyB('x'))
    for (const { at, finishedAt } of running().calls()) {
      expect((finishedAt ?? 0) - at).toBeGreaterThanOrEqual(115)
    }
  })

  it('resets the connection, or closes it in the middle of the body', async () => {
    running().script({}, ['reset', 'truncated'])
    await expect(callB(bodyB('reset'))).rejects.toMatchObject({ cause: { code: 'ECONNRESET' } })
    await expect(callB(bodyB('cut'))).rejects.toThrow('terminated')
    await expect
      .poll(() =>
        running()
          .calls()
          .map(({ status, billed }) => ({ status, billed })),
      )
      .toEqual([
        { status: null, billed: false },
        { status: 200, billed: true },
      ])
    expect(
      running()
        .calls()
        .some(({ clientAborted }) => clientAborted),
    ).toBe(false)
  })

  it('never answers, or stops in the middle, until the client leaves', async () => {
    expect(await leave('a', 'hang')).toMatchObject({ status: null, clientAborted: true })
    expect(await leave('b', 'stall')).toMatchObject({ status: 200, clientAborted: true })
  })

  it('sends a correct body slowly', async () => {
    running().script({}, ['slow chunks=5 interval=40'])
    const start = performance.now()
    expect(imagesOf(await callA(bodyA('x')))).toHaveLength(1)
    expect(performance.now() - start).toBeGreaterThanOrEqual(150)
  })

  it('sends a huge image in valid JSON', async () => {
    running().script({}, ['huge bytes=3000000', 'huge bytes=3000000'])
    for (const answer of [await callA(bodyA('x')), await callB(bodyB('x'))]) {
      expect(answer.json).not.toHaveProperty('$')
      expect(imagesOf(answer)[0]?.length).toBeGreaterThan(2_250_000)
    }
  })

  it('sends addresses, and the simulator counts who follows them', async () => {
    running().script({}, ['redirect'])
    const { headers } = await callB(bodyB('x'))
    expect(running().strayRequests()).toBe(0)
    await fetch(headers.get('location') ?? '')
    expect(running().strayRequests()).toBe(1)
  })
})
