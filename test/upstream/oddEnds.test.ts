import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { noisePng } from '../support/images.ts'
import { goodAnswer, listenAnswering } from '../support/upstream/testServers.ts'
import { openUpstreamWorld } from '../support/upstream/upstreamWorld.ts'

const bytes = Buffer.byteLength(goodAnswer)
const chunk = chunked(goodAnswer)

type End = (socket: Socket) => void
const held: End = () => {}
const closed: End = (socket) => void socket.end()
const reset: End = (socket) => void setTimeout(() => socket.resetAndDestroy(), 50)

function message(headers: string, body: string): string {
  return `${headers}\r\n\r\n${body}`
}

const pack = { gzip: gzipSync, br: fastBrotli } as const
type Coding = keyof typeof pack

function fastBrotli(text: string): Buffer {
  return brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })
}

/** `headers` declare the length of the body. */
function packed(coding: Coding, headers: string, body: Buffer): Buffer {
  return Buffer.concat([
    Buffer.from(message(`content-encoding: ${coding}\r\n${headers}`, '')),
    body,
  ])
}

function chunked(text: string): string {
  return chunkOf(Buffer.from(text)).toString()
}

function chunkOf(bytes: Buffer): Buffer {
  const head = Buffer.from(`${bytes.length.toString(16)}\r\n`)
  return Buffer.concat([head, bytes, Buffer.from('\r\n')])
}

async function largeAnswer(): Promise<string> {
  const png = await noisePng(1200, 1200)
  return JSON.stringify({ created: 1, data: [{ b64_json: png.toString('base64') }] })
}

function lengthOf(body: string | Buffer): string {
  return `content-length: ${Buffer.byteLength(body)}`
}

/** An upstream may answer either to the `Connection: close` of the request. */
const connections = ['close', 'keep-alive'] as const

async function outcomeOfAnswer(raw: string | Buffer, end: End, connection: string) {
  const { call } = await openUpstreamWorld()
  const { url, count } = await listenAnswering((_, { socket }) => {
    socket.write(`HTTP/1.1 200 OK\r\nconnection: ${connection}\r\n`)
    socket.write(raw)
    end(socket)
  })
  const outcome = await call(url, 'B', { call: { timeoutMs: 5_000 } })
  expect(count()).toBe(1)
  return outcome
}

const page = `${goodAnswer}<!-- served by a front -->`

describe.each(connections)('a whole document with connection: %s', (connection) => {
  it.each([
    ['text after it', message(lengthOf(page), page), held],
    ['bytes beyond its length', message(lengthOf(goodAnswer), page), held],
    [
      'a length too great, then closed',
      message(`content-length: ${bytes + 9}`, goodAnswer),
      closed,
    ],
    ['a length too great, then held', message(`content-length: ${bytes + 9}`, goodAnswer), held],
    ['no length, then held', message('x-a: b', goodAnswer), held],
    ['no last chunk, then closed', message('transfer-encoding: chunked', chunk), closed],
    ['no last chunk, then held', message('transfer-encoding: chunked', chunk), held],
    ['no last chunk, then reset', message('transfer-encoding: chunked', chunk), reset],
  ])('is not lost to %s', async (_what, raw, end) => {
    expect(await outcomeOfAnswer(raw, end, connection)).toMatchObject({ class: 'succeeded' })
  })

  it.each([
    ['trailers', message('transfer-encoding: chunked', `${chunk}0\r\nx-sum: 1\r\n\r\n`), held],
    ['no length, then closed', message('x-a: b', goodAnswer), closed],
    [
      'another content type',
      message(`content-type: text/html\r\n${lengthOf(goodAnswer)}`, goodAnswer),
      held,
    ],
  ])('is read with %s', async (_what, raw, end) => {
    expect(await outcomeOfAnswer(raw, end, connection)).toMatchObject({ class: 'succeeded' })
  })

  it.each<[string, (large: string) => Buffer | string]>([
    ['is whole', (large) => message(lengthOf(large), large)],
    ['is compressed', (large) => packed('gzip', lengthOf(gzipSync(large)), gzipSync(large))],
    ['lacks its last chunk', (large) => message('transfer-encoding: chunked', chunked(large))],
  ])('that %s is not lost when its readers are slow as the upstream closes', async (_, raw) => {
    const large = raw(await largeAnswer())
    const outcomes = await Promise.all(
      [1, 2, 3, 4].map(() => outcomeOfAnswer(large, closed, connection)),
    )
    expect(outcomes.map((outcome) => outcome.class)).toEqual(Array(4).fill('succeeded'))
  })

  describe.each<Coding>(['gzip', 'br'])('compressed with %s', (coding) => {
    const unended = (body: Buffer): Buffer =>
      packed(coding, 'transfer-encoding: chunked', chunkOf(body))
    const tooLong = (body: Buffer): Buffer =>
      packed(coding, `content-length: ${body.length + 9}`, body)

    it.each([
      ['no last chunk, then closed', unended, closed],
      ['no last chunk, then held', unended, held],
      ['a length too great, then closed', tooLong, closed],
      ['a length too great, then held', tooLong, held],
    ])('is not lost to %s', async (_what, raw, end) => {
      const large = raw(pack[coding](await largeAnswer()))
      expect(await outcomeOfAnswer(large, end, connection)).toMatchObject({ class: 'succeeded' })
    })
  })
})

describe('an error answer that contains a whole document', () => {
  const error = { message: 'm', type: 'server_error', param: null, code: 'server_is_overloaded' }
  const envelope = JSON.stringify({ error })

  const ends: readonly [string, (response: ServerResponse) => unknown][] = [
    ['text', (response) => response.writeHead(503).end(`${envelope}<hr>`)],
    ['silence', (response) => response.writeHead(503, { 'content-length': 900 }).write(envelope)],
  ]

  it.each(ends)('is read although %s follows', async (_what, answer) => {
    const { call } = await openUpstreamWorld()
    const { url } = await listenAnswering(answer)
    // Without what the document says, a 503 would be unknown.
    expect(await call(url, 'B')).toMatchObject({
      class: 'refused',
      evidence: { reason: 'overloaded' },
    })
  })
})
