import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { paddedPng } from '../support/images.ts'
import { goodAnswer, listenAnswering } from '../support/upstream/testServers.ts'
import { openUpstreamWorld } from '../support/upstream/upstreamWorld.ts'

/** A connection that stays open can take the next call this long after its answer. */
const freeAfterMs = 30

const imageOf = (order: number) => paddedPng(1000, order)

function messageOf(order: number): string {
  const body = JSON.stringify({ data: [{ b64_json: imageOf(order).toString('base64') }] })
  return `HTTP/1.1 200 OK\r\nconnection: keep-alive\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}

describe('the connections of the upstream agent', () => {
  it.each([
    ['garbage', 'surplus\r\n\r\n'],
    ['its answer once more', messageOf(1)],
  ])('serve one call each and then close, also when %s arrives late', async (_what, leftover) => {
    const { call } = await openUpstreamWorld()
    const sockets: Socket[] = []
    const asked: (string | undefined)[] = []
    const { url } = await listenAnswering((_, { socket, headers }, order) => {
      sockets.push(socket)
      asked.push(headers.connection)
      if (order === 2) sockets[0]?.write(leftover)
      setTimeout(() => socket.write(messageOf(order)), order === 1 ? 0 : 100)
    })
    for (const order of [1, 2, 3]) {
      const outcome = await call(url, 'B')
      if (outcome.class !== 'succeeded') throw new Error(outcome.evidence.reason)
      expect(outcome.image.bytes).toEqual(imageOf(order))
      await sleep(freeAfterMs)
    }
    expect(asked).toEqual(['close', 'close', 'close'])
    expect(new Set(sockets).size).toBe(3)
    await expect.poll(() => sockets.filter((socket) => !socket.destroyed)).toEqual([])
  })

  it('are as many as the calls: 1,100 at once are all sent', async () => {
    const { call } = await openUpstreamWorld()
    const calls = 1_100
    const answers: (() => void)[] = []
    const { url } = await listenAnswering((response) => {
      answers.push(() => response.end(goodAnswer))
      if (answers.length === calls) for (const answer of answers) answer()
    })
    const outcomes = await Promise.all(
      Array.from({ length: calls }, () => call(url, 'B', { call: { timeoutMs: 30_000 } })),
    )
    expect(new Set(outcomes.map((outcome) => outcome.class))).toEqual(new Set(['succeeded']))
  })
})
