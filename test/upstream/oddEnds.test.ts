import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { goodAnswer, listenAnswering } from '../support/upstream/testServers.ts'
import { openUpstreamWorld } from '../support/upstream/upstreamWorld.ts'

type Ending = 'held' | 'closed' | 'reset'
const ends: Readonly<Record<Ending, (socket: Socket) => unknown>> = {
  held: () => {},
  closed: (socket) => socket.end(),
  reset: (socket) => setTimeout(() => socket.resetAndDestroy(), 50),
}

/** The rest of an answer after its first headers. */
function message(headers: string, body: string | Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${headers}\r\n\r\n`), Buffer.from(body)])
}

const length = (body: string | Buffer, more = 0) =>
  `content-length: ${Buffer.byteLength(body) + more}`
const inChunks = 'transfer-encoding: chunked'

/** One chunk, without the last chunk that would end the body. */
function chunk(body: string | Buffer): Buffer {
  const bytes = Buffer.from(body)
  return Buffer.concat([
    Buffer.from(`${bytes.length.toString(16)}\r\n`),
    bytes,
    Buffer.from('\r\n'),
  ])
}

/** An upstream may answer either to the `Connection: close` of the request. */
const connections = ['close', 'keep-alive'] as const

async function classOfAnswer(raw: Buffer, end: Ending, connection: string): Promise<string> {
  const { call } = await openUpstreamWorld()
  const { url, count } = await listenAnswering((_, { socket }) => {
    socket.write(`HTTP/1.1 200 OK\r\nconnection: ${connection}\r\n`)
    socket.write(raw)
    ends[end](socket)
  })
  const outcome = await call(url, 'B', { call: { timeoutMs: 1_000 } })
  expect(count()).toBe(1)
  return outcome.class
}

const page = `${goodAnswer}<!-- served by a front -->`

const ways: readonly (readonly [string, Ending, Buffer])[] = [
  ['text after it', 'held', message(length(page), page)],
  ['bytes beyond its length', 'held', message(length(goodAnswer), page)],
  ['a length too great', 'closed', message(length(goodAnswer, 9), goodAnswer)],
  ['a length too great', 'held', message(length(goodAnswer, 9), goodAnswer)],
  ['no length', 'closed', message('x-a: b', goodAnswer)],
  ['no last chunk', 'closed', message(inChunks, chunk(goodAnswer))],
  ['no last chunk', 'held', message(inChunks, chunk(goodAnswer))],
  ['no last chunk', 'reset', message(inChunks, chunk(goodAnswer))],
  ['trailers', 'held', message(inChunks, `${String(chunk(goodAnswer))}0\r\nx-sum: 1\r\n\r\n`)],
]

describe.each(connections)('a whole document with connection: %s', (connection) => {
  it('is not lost to a wrong length, to no end, or to what follows it', async () => {
    const classes = ways.map(async ([what, end, raw]) => [
      what,
      end,
      await classOfAnswer(raw, end, connection),
    ])
    expect(await Promise.all(classes)).toEqual(ways.map(([what, end]) => [what, end, 'succeeded']))
  })
})

const error = { message: 'm', type: 'server_error', param: null, code: 'server_is_overloaded' }
const envelope = JSON.stringify({ error })
it.each<readonly [string, (response: ServerResponse) => unknown]>([
  ['text', (response) => response.writeHead(503).end(`${envelope}<hr>`)],
  ['silence', (response) => response.writeHead(503, { 'content-length': 900 }).write(envelope)],
])('the document of an error answer is read although %s follows', async (_what, answer) => {
  const { call } = await openUpstreamWorld()
  const { url } = await listenAnswering(answer)
  // Without what the document says, a 503 would be unknown.
  const evidence = { reason: 'overloaded' }
  expect(await call(url, 'B')).toMatchObject({ class: 'refused', evidence })
})
