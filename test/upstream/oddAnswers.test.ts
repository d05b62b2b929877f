import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { collect } from '../support/byteStreams.ts'
import { redPixelPng } from '../support/images.ts'
import { goodAnswer, listenAnswering } from '../support/upstream/testServers.ts'
import { openUpstreamWorld } from '../support/upstream/upstreamWorld.ts'

const png = redPixelPng.toString('base64')

async function outcomeOfAnswer(
  status: number,
  body: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
) {
  const { call } = await openUpstreamWorld()
  const { url } = await listenAnswering((response) => response.writeHead(status, headers).end(body))
  // A busy machine takes many seconds for an answer of 97 MiB.
  return await call(url, 'B', { call: { timeoutMs: 40_000 } })
}

describe('answers in forms that no vendor documents', () => {
  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ] as const)(
    'are read with the coding %s, which the request did not ask for',
    async (coding, compress) => {
      const outcome = await outcomeOfAnswer(200, compress(goodAnswer), {
        'content-encoding': coding,
      })
      expect(outcome).toMatchObject({ class: 'succeeded' })
    },
  )

  it('are read with a coding when they are errors, too', async () => {
    const error = { message: 'm', type: 'server_error', param: null, code: 'server_is_overloaded' }
    const body = gzipSync(JSON.stringify({ error }))
    expect(await outcomeOfAnswer(503, body, { 'content-encoding': 'gzip' })).toMatchObject({
      class: 'refused',
      evidence: { reason: 'overloaded' },
    })
  })

  it.each(['gzip', 'deflate', 'br', 'zstd', 'gzip, br'])(
    'are read as they are when the header names %s but the body is not encoded',
    async (coding) => {
      const outcome = await outcomeOfAnswer(200, goodAnswer, { 'content-encoding': coding })
      expect(outcome).toMatchObject({ class: 'succeeded' })
    },
  )

  it.each([{}, { 'content-encoding': 'identity' }, { 'content-encoding': 'utf-8' }])(
    'are decompressed when they are compressed and %j does not say so',
    async (headers) => {
      const outcome = await outcomeOfAnswer(200, gzipSync(goodAnswer), headers)
      expect(outcome).toMatchObject({ class: 'succeeded' })
    },
  )

  it('are unknown outcomes when their coding breaks off or is a different one', async () => {
    const gzip = { 'content-encoding': 'gzip' }
    const cut = gzipSync(goodAnswer).subarray(0, -20)
    expect(await outcomeOfAnswer(200, cut, gzip)).toMatchObject({ class: 'unknown' })
    expect(await outcomeOfAnswer(200, deflateSync(goodAnswer), gzip)).toMatchObject({
      class: 'unknown',
    })
    expect(await outcomeOfAnswer(200, '', gzip)).toMatchObject({ class: 'unknown' })
    expect(await outcomeOfAnswer(503, '', gzip)).toMatchObject({ class: 'unknown' })
  })

  it('are too large when they decompress to too many bytes', async () => {
    const bomb = gzipSync(Buffer.alloc(97 * 1024 * 1024, ' '), { level: 1 })
    expect(await outcomeOfAnswer(200, bomb, { 'content-encoding': 'gzip' })).toMatchObject({
      class: 'unknown',
      evidence: { reason: 'answer_too_large' },
    })
  })

  it.each([201, 202, 203, 206])('give their image with the status %d', async (status) => {
    const outcome = await outcomeOfAnswer(status, goodAnswer)
    expect(outcome).toMatchObject({ class: 'succeeded', evidence: { httpStatus: status } })
  })

  it.each([
    [201, '{"created":1,"data":[]}'],
    [202, '{"created":1}'],
    [202, '<html>'],
    [202, '{"id":"task-1","status":"queued"}'],
    [204, ''],
    [206, goodAnswer.slice(0, -2)],
  ])('are unknown outcomes without an image and with the status %d: %s', async (status, body) => {
    expect(await outcomeOfAnswer(status, body)).toMatchObject({
      class: 'unknown',
      evidence: { reason: 'unexpected_status', httpStatus: status },
    })
  })

  it.each([
    [
      'of forty',
      JSON.stringify({ created: 1, data: Array.from({ length: 40 }, () => ({ b64_json: png })) }),
    ],
    [
      'written with escapes',
      `{"created":1,"data":[{"b64_json":"${png.replaceAll('/', '\\/').replace('A', '\\u0041')}"}]}`,
    ],
    ['behind an empty one', `{"created":1,"data":[{"b64_json":""},{"b64_json":"${png}"}]}`],
    [
      'behind one that is none',
      `{"created":1,"data":[{"b64_json":"aGVsbG8="},{"b64_json":null},{"b64_json":"${png}"}]}`,
    ],
    ['beside equal keys', `{"created":0,"data":[{"b64_json":"${png}"}],"created":1}`],
  ])('give the first image %s', async (_which, body) => {
    const outcome = await outcomeOfAnswer(200, body)
    expect(outcome).toMatchObject({ class: 'succeeded', native: { response: { created: 1 } } })
  })

  it.each([
    ['as a data URL', `data:image/png;base64,${png}`],
    ['with line breaks', png.replaceAll(/.{20}/g, '$&\n')],
    ['in the URL alphabet without padding', redPixelPng.toString('base64url')],
  ])('give their image %s', async (_how, text) => {
    const body = JSON.stringify({ created: 1, data: [{ b64_json: text }] })
    const outcome = await outcomeOfAnswer(200, body)
    if (outcome.class !== 'succeeded') throw new Error(`Not an image but ${outcome.class}`)
    expect(await collect(outcome.image.open())).toEqual(redPixelPng)
  })
})
