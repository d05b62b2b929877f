import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { watchBody } from '../../src/upstream/send.ts'

async function* pieces(count: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < count; at += 1) yield Buffer.alloc(1024)
}

async function* failing(): AsyncGenerator<Uint8Array> {
  yield* pieces(1)
  throw new Error('the blob store is away')
}

const clock = () => 7

describe('a watched request body', () => {
  it('records when its first chunk was read, and no failure when it was sent whole', async () => {
    const body = watchBody(pieces(20), clock)
    expect(body.startedAtMs()).toBeUndefined()
    expect(await body.stream.toArray()).toHaveLength(20)
    expect([body.startedAtMs(), body.failed()]).toEqual([7, false])
  })

  it('records that its own source failed', async () => {
    const body = watchBody(failing(), clock)
    await expect(body.stream.toArray()).rejects.toThrow('away')
    expect(body.failed()).toBe(true)
  })

  it('records no failure of the source when the connection fails, and closes the source', async () => {
    let ended = false
    const source = (async function* () {
      try {
        yield* pieces(20)
      } finally {
        ended = true
      }
    })()
    const body = watchBody(source, clock)
    body.stream.once('data', () => body.stream.pause())
    await once(body.stream, 'pause')
    const closed = new Promise((resolve) => body.stream.once('close', resolve))
    body.stream.destroy(new Error('the connection was reset'))
    await closed
    expect([body.failed(), ended]).toEqual([false, true])
  })
})
