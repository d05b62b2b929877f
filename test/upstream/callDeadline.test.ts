import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startCallDeadline } from '../../src/upstream/callDeadline.ts'
import { noisePng } from '../support/images.ts'
import { standStill } from '../support/standStill.ts'
import { openUpstreamWorld } from '../support/upstreamWorld.ts'

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
  it('comes to the millisecond, in whatever pieces it is waited for', async () => {
    for (const timeoutMs of [0.4, 100, 1_250.5]) {
      const startedAtMs = performance.now()
      const { signal } = startCallDeadline(timeoutMs, () => performance.now())
      await once(signal, 'abort')
      const lateMs = performance.now() - startedAtMs - timeoutMs
      expect(lateMs).toBeGreaterThanOrEqual(0)
      expect(lateMs).toBeLessThan(200)
    }
  })

  it('comes no more once the call is over', async () => {
    const deadline = startCallDeadline(20, () => performance.now())
    deadline.clear()
    await sleep(60)
    expect(deadline.signal.aborted).toBe(false)
  })

  it.each([450, 700, 2_500])(
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

  it('is not moved for ever: a call whose answer never comes ends soon after', async () => {
    const { call } = await openUpstreamWorld()
    const url = await startUpstream(60_000)
    const startedAtMs = performance.now()
    const calling = call(url, 'B', { call: { timeoutMs: 600 } })
    await sleep(200)
    standStill(1_500)
    expect(await calling).toMatchObject({ class: 'unknown', evidence: { reason: 'timeout' } })
    expect(performance.now() - startedAtMs).toBeLessThan(6_000)
  })
})
