import Koa from 'koa'
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished, vi } from 'vitest'
import type { StreamEvent } from '../../../src/http/answers/sendEvents.ts'
import { sendEvents } from '../../../src/http/answers/sendEvents.ts'
import type { ApiState } from '../../../src/http/requestState.ts'
import { listen } from '../../support/upstream/testServers.ts'
import { until } from '../../support/timing.ts'

/** Serves the events, and reports the most bytes that ever waited for a client, and whether the events ended. */
async function serve(events: () => AsyncGenerator<StreamEvent>) {
  const seen = { unreadBytes: 0, ended: false }
  const app = new Koa<ApiState>()
  app.silent = true
  app.use(async (context) => {
    const counted = async function* () {
      try {
        for await (const event of events()) {
          seen.unreadBytes = Math.max(seen.unreadBytes, context.res.writableLength)
          yield event
        }
      } finally {
        seen.ended = true
      }
    }
    await sendEvents(context, counted)
  })
  const handle = app.callback()
  const url = await listen((request, response) => void handle(request, response))
  return { seen, port: Number(new URL(url).port) }
}

it('disconnects a client that does not read, and keeps little for it', async () => {
  const { seen, port } = await serve(async function* () {
    for (let id = 0; ; id += 1) {
      yield { name: 'task', id, data: 'x'.repeat(10_000) }
      await sleep(1)
    }
  })
  const socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  socket.pause()
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await expect.poll(() => seen.ended, { timeout: 20_000 }).toBe(true)
  expect(seen.unreadBytes).toBeLessThan(100_000)
}, 30_000)

it('sends a comment every 15 s [events-2]', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const end = Promise.withResolvers<void>()
  const { port } = await serve(async function* () {
    yield { name: 'task', id: 0, data: '{}' }
    await end.promise
  })
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.on('data', (chunk) => (text += chunk.toString()))
  socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  // Not `expect.poll`, which moves the fake clock forward while it waits.
  await until(
    'the first event',
    () => text.includes('event: task\nid: 0\ndata: {}\n\n') || undefined,
  )
  const comments = () => text.split('\n').filter((line) => line.startsWith(':')).length
  vi.advanceTimersByTime(14_900)
  await sleep(50)
  expect(comments()).toBe(0)
  vi.advanceTimersByTime(200)
  await until('one comment', () => comments() === 1 || undefined)
  vi.advanceTimersByTime(30_000)
  await until('three comments', () => comments() === 3 || undefined)
  end.resolve()
  await once(socket, 'close')
})
