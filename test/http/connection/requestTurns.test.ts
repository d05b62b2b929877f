import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createRequestTurns } from '../../../src/http/connection/requestTurns.ts'
import { portOf } from '../../support/upstream/testServers.ts'

/** Pipelines requests to a server that needs 5 ms for each. */
async function pipeline(count: number) {
  const turns = createRequestTurns()
  let [atOnce, atOnceMax, served] = [0, 0, 0]
  const server = createServer((request, response) => {
    turns.take(request, response, () => {
      atOnce += 1
      atOnceMax = Math.max(atOnceMax, atOnce)
      setTimeout(() => {
        atOnce -= 1
        served += 1
        response.end(request.url)
      }, 5)
    })
  })
  const socket = connect(await portOf(server), '127.0.0.1')
  onTestFinished(() => {
    socket.destroy()
    server.close()
  })
  const closed = once(socket, 'close')
  let answers = ''
  socket.on('data', (chunk: Buffer) => (answers += chunk.toString()))
  socket.on('error', () => {})
  const paths = Array.from({ length: count }, (_, i) => `/${i}`)
  socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).join(''))
  return { paths, closed, answers: () => answers, atOnceMax: () => atOnceMax, served: () => served }
}

describe('pipelined requests', () => {
  it('are served one at a time and answered in their order', async () => {
    const { paths, answers, atOnceMax } = await pipeline(100)
    await expect
      .poll(() => answers().match(/HTTP\/1.1 200/g)?.length, { timeout: 10_000 })
      .toBe(100)
    const bodies = answers()
      .split(/HTTP\/1.1 200 OK\r\n/)
      .slice(1)
      .map((answer) => /\/\d+/.exec(answer.split('\r\n\r\n')[1] ?? '')?.[0])
    expect(bodies).toEqual(paths)
    expect(atOnceMax()).toBe(1)
  })

  it('end the connection when hundreds of them have no answer', async () => {
    const { closed, served } = await pipeline(1_000)
    await closed
    await sleep(200)
    expect(served()).toBeLessThanOrEqual(1)
  })
})
