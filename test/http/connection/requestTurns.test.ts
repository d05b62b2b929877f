import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { createRequestTurns } from '../../../src/http/connection/requestTurns.ts'
import { listen } from '../../support/upstream/testServers.ts'

/** Pipelines requests to a server that needs 5 ms for each. */
async function pipeline(count: number) {
  const turns = createRequestTurns()
  const seen = { atOnce: 0, atOnceMax: 0, served: 0, answers: '' }
  const url = await listen((request, response) => {
    turns.take(request, response, () => {
      seen.atOnce += 1
      seen.atOnceMax = Math.max(seen.atOnceMax, seen.atOnce)
      setTimeout(() => {
        seen.atOnce -= 1
        seen.served += 1
        response.end(`<${request.url}>`)
      }, 5)
    })
  })
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  const closed = once(socket, 'close')
  socket.on('data', (chunk: Buffer) => (seen.answers += chunk.toString()))
  socket.on('error', () => {})
  const paths = Array.from({ length: count }, (_, i) => `/${i}`)
  socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).join(''))
  return { paths, closed, seen }
}

it('pipelined requests are served one at a time and answered in their order', async () => {
  const { paths, seen } = await pipeline(100)
  const bodies = () => [...seen.answers.matchAll(/<(\/\d+)>/g)].map(([, path]) => path)
  await expect.poll(bodies, { timeout: 10_000 }).toEqual(paths)
  expect(seen.atOnceMax).toBe(1)
})

it('pipelined requests end the connection when hundreds of them have no answer', async () => {
  const { closed, seen } = await pipeline(1_000)
  await closed
  await sleep(200)
  expect(seen.served).toBeLessThanOrEqual(1)
})
