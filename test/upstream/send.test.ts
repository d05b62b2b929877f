import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { watchBody } from '../../src/upstream/send.ts'

async function* pieces(count: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < count; at += 1) yield Buffer.alloc(1024)
}

describe('a watched request body', () => {
  it('records when its first chunk was read, and whether its own source failed', async () => {
    const whole = watchBody(pieces(20), () => 7)
    expect(whole.startedAtMs()).toBeUndefined()
    expect(await whole.stream.toArray()).toHaveLength(20)
    expect([whole.startedAtMs(), whole.failed()]).toEqual([7, false])
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield* pieces(1)
      throw new Error('the blob store is away')
    }
    const broken = watchBody(failing(), () => 7)
    await expect(broken.stream.toArray()).rejects.toThrow('away')
    expect(broken.failed()).toBe(true)
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
    const body = watchBody(source, () => 7)
    body.stream.once('data', () => body.stream.pause())
    await once(body.stream, 'pause')
    const closed = new Promise((resolve) => body.stream.once('close', resolve))
    body.stream.destroy(new Error('the connection was reset'))
    await closed
    expect([body.failed(), ended]).toEqual([false, true])
  })
})
