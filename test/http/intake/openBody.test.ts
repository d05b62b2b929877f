import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { isSmallBody, readRequest } from '../../../src/http/intake/openBody.ts'
import { collect } from '../../support/byteStreams.ts'
import { listen } from '../../support/upstream/testServers.ts'

describe('the body of a request', () => {
  const pace = { idleMs: 200, graceMs: 400, bytesPerSecondMin: 1_000 }
  // So slow a rate that a pause of the machine does not matter.
  const patient = { idleMs: 5_000, graceMs: 200, bytesPerSecondMin: 50 }

  it.each([
    ['given up when nothing arrives, and the request can still be answered', 1, 0, pace],
    ['given up when it arrives slower than the minimum rate', 20, 100, pace],
    ['read when it is slow but above the minimum rate', 20, 30, patient],
  ])('is %s', async (_what, chunks, everyMs, limits) => {
    const url = await listen((request, response) => {
      collect(readRequest(request, limits)).then(
        (bytes) => response.end(`${bytes.length} bytes`),
        (error: unknown) => response.end(String(error)),
      )
    })
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n')
    const answer = once(socket, 'data')
    for (let chunk = 0; chunk < chunks && socket.writable; chunk += 1) {
      socket.write('x'.repeat(50))
      await sleep(everyMs)
    }
    expect(String((await answer)[0])).toContain(limits === pace ? 'stalled' : '1000 bytes')
  })
})

describe('a small body', () => {
  it.each([
    [{ 'content-length': '8192' }, true],
    [{}, true],
    [{ 'content-length': '8193' }, false],
    // A few compressed bytes can unpack to megabytes, and nobody knows the size of a body in chunks.
    [{ 'content-length': '100', 'content-encoding': 'br' }, false],
    [{ 'transfer-encoding': 'chunked' }, false],
  ])('is one whose headers %j say so: %s', (headers, expected) => {
    expect(isSmallBody({ headers })).toBe(expected)
  })
})
