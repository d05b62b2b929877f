import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { redPixelPng } from '../support/images.ts'
import { goodAnswer, listenAnswering } from '../support/upstream/testServers.ts'
import { openUpstreamWorld } from '../support/upstream/upstreamWorld.ts'

const png = redPixelPng.toString('base64')

async function outcomeOfAnswer(status: number, body: string | Buffer, coding?: string) {
  const { call } = await openUpstreamWorld()
  const headers = coding === undefined ? {} : { 'content-encoding': coding }
  const { url } = await listenAnswering((response) => response.writeHead(status, headers).end(body))
  // A busy machine takes many seconds for an answer of 97 MiB.
  return await call(url, 'B', { call: { timeoutMs: 40_000 } })
}

const error = { message: 'm', type: 'server_error', param: null, code: 'server_is_overloaded' }

describe('answers in forms that no vendor documents', () => {
  const plain = ['gzip', 'zstd', 'gzip, br'].map((coding) => ({
    what: 'not compressed',
    coding,
    body: goodAnswer,
  }))
  const unnamed = [undefined, 'identity', 'utf-8'].map((coding) => ({
    what: 'compressed with gzip',
    coding,
    body: gzipSync(goodAnswer),
  }))
  it.each([
    { what: 'compressed with gzip', coding: 'gzip', body: gzipSync(goodAnswer) },
    { what: 'plain behind a line feed, said to be gzip', coding: 'gzip', body: `\n${goodAnswer}` },
    { what: 'compressed with deflate', coding: 'deflate', body: deflateSync(goodAnswer) },
    { what: 'compressed with brotli', coding: 'br', body: brotliCompressSync(goodAnswer) },
    ...plain,
    ...unnamed,
  ])('are read when they are $what and name the coding $coding', async ({ coding, body }) => {
    expect(await outcomeOfAnswer(200, body, coding)).toMatchObject({ class: 'succeeded' })
  })

  it('are read when something follows the end of their coding', async () => {
    const body = Buffer.concat([gzipSync(goodAnswer), Buffer.from('\r\n')])
    expect(await outcomeOfAnswer(200, body, 'gzip')).toMatchObject({ class: 'succeeded' })
  })

  const limit = { code: 429, message: 'm', status: 'RESOURCE_EXHAUSTED' }
  const wait = { ...limit, details: [{ retryDelay: '7s' }] }
  const spent = { message: 'm', type: 'insufficient_quota', code: 'insufficient_quota' }
  it.each([
    [503, error, { class: 'refused', evidence: { reason: 'overloaded' } }],
    [429, wait, { class: 'refused', retryAfterMs: 7_000 }],
    [429, spent, { class: 'exhausted' }],
  ])('keep their class and wait when they are errors in gzip: %i %j', async (...row) => {
    const [status, sent, outcome] = row
    const body = gzipSync(JSON.stringify({ error: sent }))
    for (const coding of ['gzip', undefined]) {
      expect(await outcomeOfAnswer(status, body, coding)).toMatchObject(outcome)
    }
  })

  it.each([
    ['it breaks off', 200, gzipSync(goodAnswer).subarray(0, -40)],
    ['there is no body', 200, ''],
    ['an error has no body', 503, ''],
  ])('are unknown outcomes with the coding gzip when %s', async (_what, status, body) => {
    expect(await outcomeOfAnswer(status, body, 'gzip')).toMatchObject({ class: 'unknown' })
  })

  it('are too large when they decompress to too many bytes', async () => {
    const bomb = gzipSync(Buffer.alloc(97 * 1024 * 1024, ' '), { level: 1 })
    const evidence = { reason: 'answer_too_large' }
    expect(await outcomeOfAnswer(200, bomb, 'gzip')).toMatchObject({ class: 'unknown', evidence })
  })

  it.each([201, 206])('give their image with the status %d', async (status) => {
    const outcome = await outcomeOfAnswer(status, goodAnswer)
    expect(outcome).toMatchObject({ class: 'succeeded', evidence: { httpStatus: status } })
  })

  it.each([
    [201, '{"created":1,"data":[]}'],
    [202, '{"id":"task-1","status":"queued"}'],
    [204, ''],
    [206, goodAnswer.slice(0, -2)],
  ])('are unknown outcomes without an image and with the status %d: %s', async (status, body) => {
    const evidence = { reason: 'unexpected_status', httpStatus: status }
    expect(await outcomeOfAnswer(status, body)).toMatchObject({ class: 'unknown', evidence })
  })

  const data = (...images: readonly (string | null)[]) => images.map((b64_json) => ({ b64_json }))
  const escaped = png.replaceAll('/', '\\/').replace('A', '\\u0041')
  it.each([
    ['written with escapes', `{"created":1,"data":[{"b64_json":"${escaped}"}]}`],
    ['behind one that is none', JSON.stringify({ created: 1, data: data('aGVsbG8=', null, png) })],
    ['beside an error of null', JSON.stringify({ created: 1, data: data(png), error: null })],
    ['as a data URL', JSON.stringify({ created: 1, data: data(`data:image/png;base64,${png}`) })],
  ])('give their whole image %s', async (_which, body) => {
    const outcome = await outcomeOfAnswer(200, body)
    if (outcome.class !== 'succeeded') throw new Error(`Not an image but ${outcome.class}`)
    expect(outcome.native.response).toMatchObject({ created: 1 })
    expect(outcome.image.bytes).toEqual(redPixelPng)
  })
})
