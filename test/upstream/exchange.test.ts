import { getEventListeners } from 'node:events'
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Exchange } from '../../src/upstream/exchange.ts'
import { exchange } from '../../src/upstream/exchange.ts'
import { createUpstreamAgent } from '../../src/upstream/callUpstream.ts'
import { collect } from '../support/byteStreams.ts'
import { goodAnswer, listenAnswering } from '../support/upstream/testServers.ts'

const nobodyListens = 'http://127.0.0.1:1'

function exchangeWith(origin: string, signal: AbortSignal): Promise<Exchange> {
  const agent = createUpstreamAgent()
  onTestFinished(() => agent.destroy())
  const body = Readable.from([Buffer.from('{}')])
  return exchange(agent, { origin, path: '/', method: 'POST', body }, signal)
}

function listenersOf(signal: AbortSignal): number {
  return getEventListeners(signal, 'abort').length
}

describe('an exchange', () => {
  it.each<[string, (response: ServerResponse) => unknown, (body: Readable) => unknown]>([
    ['a whole answer', (response) => response.end(goodAnswer), collect],
    [
      'an answer that broke off',
      (response) => response.write('{', () => response.destroy()),
      collect,
    ],
    ['an answer nobody reads', (response) => response.write('{'), (body) => body.destroy()],
  ])('leaves nothing at the signal of its deadline after %s', async (_what, answer, end) => {
    const signal = AbortSignal.timeout(300_000)
    const { url } = await listenAnswering(answer)
    const { body } = await exchangeWith(url, signal)
    await end(body)
    await expect.poll(() => listenersOf(signal)).toBe(0)
  })

  it('leaves nothing at the signal of its deadline when there is no answer', async () => {
    const signal = AbortSignal.timeout(300_000)
    const { url } = await listenAnswering((response) => response.destroy())
    for (const origin of [url, nobodyListens]) {
      await expect(exchangeWith(origin, signal)).rejects.toBeInstanceOf(Error)
      expect(listenersOf(signal)).toBe(0)
    }
  })
})
