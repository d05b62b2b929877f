import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { startCallDeadline } from '../../src/upstream/send.ts'
import { noisePng } from '../support/images.ts'
import { standStill } from '../support/timing.ts'
import { openUpstreamWorld } from '../support/upstream/upstreamWorld.ts'

/** In a thread of its own, which goes on while this one stands still. */
const upstream = `
  const { createServer } = require('node:http')
  const { parentPort, workerData } = require('node:worker_threads')
  const server = createServer((request, response) => {
    request.resume()
    setTimeout(() => response.end(workerData.answer), workerData.afterMs)
  })
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))
`

async function startUpstream(afterMs: number): Promise<string> {
  const png = await noisePng(800, 800)
  const answer = JSON.stringify({ created: 1, data: [{ b64_json: png.toString('base64') }] })
  const thread = new Worker(upstream, { eval: true, workerData: { answer, afterMs } })
  onTestFinished(async () => void (await thread.terminate()))
  const [port] = await once(thread, 'message')
  return `http://127.0.0.1:${port}`
}

describe('the deadline of a call', () => {
  afterEach(() => void vi.useRealTimers())

  it.each([0.4, 1_250.5, 300_000])('comes to the millisecond: after %s', async (timeoutMs) => {
    vi.useFakeTimers()
    const { signal } = startCallDeadline(timeoutMs, () => performance.now())
    const cleared = startCallDeadline(timeoutMs, () => performance.now())
    await vi.advanceTimersByTimeAsync(Math.ceil(timeoutMs) - 1)
    expect(signal.aborted).toBe(false)
    cleared.clear()
    await vi.advanceTimersByTimeAsync(1)
    expect(signal.aborted).toBe(true)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(cleared.signal.aborted).toBe(false)
  })

  it.each([450, 2_500])(
    'leaves time to read an answer that came while the process stood still for %s ms',
    async (stoppedMs) => {
      const { call } = await openUpstreamWorld()
      const url = await startUpstream(400)
      const calling = call(url, 'B', { call: { timeoutMs: 600 } })
      await sleep(200)
      standStill(stoppedMs)
      expect(await calling).toMatchObject({ class: 'succeeded' })
    },
  )
})
