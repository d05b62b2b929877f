import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createLoopTurns } from '../../../src/http/intake/loopTurns.ts'
import { standStill, timed } from '../../support/timing.ts'

describe('the turns of bodies', () => {
  it('go to the accounts in rotation, and end after a few milliseconds', async () => {
    const turns = createLoopTurns()
    const order: string[] = []
    async function read(name: string, accountId: string, chunks: number): Promise<void> {
      for (let chunk = 0; chunk < chunks; chunk += 1) {
        await turns.pause(accountId)
        order.push(name)
        standStill(4)
      }
    }
    standStill(4)
    await Promise.all([
      read('first', 'many', 2),
      read('second', 'many', 2),
      read('third', 'many', 2),
      read('other', 'other', 2),
    ])
    expect(order.slice(0, 4)).toEqual(['first', 'other', 'second', 'other'])
  })

  it('let other work in between', async () => {
    const turns = createLoopTurns()
    const order: string[] = []
    standStill(4)
    const body = (async () => {
      for (let chunk = 0; chunk < 3; chunk += 1) {
        await turns.pause('many')
        order.push('chunk')
        standStill(4)
      }
    })()
    setImmediate(() => order.push('other work'))
    await body
    expect(order).toEqual(['chunk', 'other work', 'chunk', 'chunk'])
  })

  it('of an account that works much are a sixteenth of the time while another account is present', async () => {
    const turns = createLoopTurns()
    turns.see('other')
    turns.see('many')
    const over = new AbortController()
    let workedMs = 0
    const body = async () => {
      while (!over.signal.aborted) {
        await turns.pause('many')
        standStill(3)
        workedMs += 3
      }
    }
    const bodies = Promise.all([body(), body(), body()])
    await sleep(500)
    workedMs = 0
    const tookMs = await timed(() => sleep(1_500))
    const part = workedMs / tookMs
    // Another account has its turn at once. On a busy machine, one of five tries may have to wait.
    const waitedMs: number[] = []
    for (let n = 0; n < 5; n += 1) waitedMs.push(await timed(() => turns.pause('other')))
    over.abort()
    expect(part).toBeLessThan(0.1)
    expect(part).toBeGreaterThan(0)
    expect(Math.min(...waitedMs)).toBeLessThan(50)
    await bodies
  })

  it('go to requests of an account and to its images that are read in rotation', async () => {
    const turns = createLoopTurns()
    const order: string[] = []
    standStill(4)
    const enter = async (name: string, isDownload: boolean) => {
      await turns.pause('one', isDownload ? { image: 'download' } : {})
      order.push(name)
      standStill(3)
    }
    await Promise.all([
      enter('image', true),
      enter('another image', true),
      enter('request', false),
      enter('another request', false),
    ])
    expect(order).toEqual(['image', 'request', 'another image', 'another request'])
  })

  it('count the work beside them', async () => {
    const turns = createLoopTurns()
    turns.see('other')
    turns.see('many')
    const tookMs = await timed(async () => {
      for (let piece = 0; piece < 10; piece += 1) await turns.pause('many', { besidesMs: 20 })
    })
    expect(tookMs).toBeGreaterThan(300)
  })

  it('are not delayed for small bodies, also while large ones of the same account wait', async () => {
    const turns = createLoopTurns()
    turns.see('other')
    turns.see('many')
    for (let piece = 0; piece < 10; piece += 1) await turns.pause('many', { besidesMs: 20 })
    const large = turns.pause('many')
    const order: string[] = []
    void large.then(() => order.push('large'))
    const tookMs = await timed(async () => {
      for (let piece = 0; piece < 100; piece += 1) {
        await turns.pause('many', { besidesMs: 20, ofSmallBody: true })
      }
    })
    order.push('small')
    expect(tookMs).toBeLessThan(1_000)
    await large
    expect(order).toEqual(['small', 'large'])
  })

  it('are not delayed for images of synchronous calls, which are paid for', async () => {
    const turns = createLoopTurns()
    turns.see('other')
    turns.see('many')
    for (let piece = 0; piece < 10; piece += 1) await turns.pause('many', { besidesMs: 20 })
    const tookMs = await timed(async () => {
      for (let piece = 0; piece < 100; piece += 1) {
        await turns.pause('many', { besidesMs: 20, image: 'paid_answer' })
      }
    })
    expect(tookMs).toBeLessThan(1_000)
  })
})
