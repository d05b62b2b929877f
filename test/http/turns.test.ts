import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { createTurns } from '../../src/http/connection/turns.ts'
import { portOf } from '../support/upstream/testServers.ts'

/** A server that takes 10 ms for each request, and the requests of one connection that it is told of. */
async function pipelined(count: number) {
  const turns = createTurns()
  let [now, most, served] = [0, 0, 0]
  const server = createServer((request, response) => {
    turns(request, response, () => {
      now += 1
      most = Math.max(most, now)
      setTimeout(() => {
        now -= 1
        served += 1
        response.end(request.url)
      }, 10)
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
  return { paths, closed, answers: () => answers, most: () => most, served: () => served }
}

it('serves pipelined requests a few at a time, and answers all of them in their order', async () => {
  const { paths, answers, most } = await pipelined(100)
  await expect.poll(() => answers().match(/HTTP\/1.1 200/g)?.length, { timeout: 5_000 }).toBe(100)
  const bodies = answers()
    .split(/HTTP\/1.1 200 OK\r\n/)
    .slice(1)
    .map((one) => /\/\d+/.exec(one.split('\r\n\r\n')[1] ?? '')?.[0])
  expect(bodies).toEqual(paths)
  expect(most()).toBeLessThanOrEqual(4)
})

it('lets go of a connection with hundreds of requests, and of what waits on it', async () => {
  const { closed, served } = await pipelined(1_000)
  await closed
  await sleep(200)
  expect(served()).toBeLessThanOrEqual(4)
})
