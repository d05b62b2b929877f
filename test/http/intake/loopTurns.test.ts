import { describe, expect, it } from 'vitest'
import type { Piece } from '../../../src/http/intake/loopTurns.ts'
import { createLoopTurns } from '../../../src/http/intake/loopTurns.ts'
import { standStill, timed } from '../../support/timing.ts'

/** Each name asks for a turn of its account at once and works 4 ms in it. Returns the order of the names. */
async function orderOf(asked: readonly (readonly [string, string, Piece?])[]) {
  const turns = createLoopTurns()
  const order: string[] = []
  standStill(4)
  const pieces = asked.map(async ([name, accountId, piece]) => {
    await turns.pause(accountId, piece)
    order.push(name)
    standStill(4)
  })
  setImmediate(() => order.push('other work'))
  await Promise.all(pieces)
  return order
}

/** Turns in which the account `many` has worked much while another one is present. */
async function busyTurns() {
  const turns = createLoopTurns()
  turns.see('other')
  turns.see('many')
  for (let piece = 0; piece < 4; piece += 1) await turns.pause('many', { besidesMs: 20 })
  return turns
}

describe('the turns of bodies', () => {
  it('go to the accounts in rotation, with other work in between', async () => {
    const order = await orderOf([
      ['first', 'many'],
      ['second', 'many'],
      ['third', 'many'],
      ['other', 'other'],
    ])
    expect(order).toEqual(['first', 'other work', 'other', 'second', 'third'])
  })

  it('go to requests of an account and to its images that are read in rotation', async () => {
    const order = await orderOf([
      ['image', 'one', { image: 'download' }],
      ['another image', 'one', { image: 'download' }],
      ['request', 'one'],
      ['another request', 'one'],
    ])
    const expected = ['image', 'other work', 'request', 'another image', 'another request']
    expect(order).toEqual(expected)
  })

  it('admit only a few of many pieces that ask at once', async () => {
    const turns = createLoopTurns()
    let admitted = 0
    const all = Array.from({ length: 24 }, async () => {
      await turns.pause('one')
      admitted += 1
    })
    await Promise.resolve()
    expect(admitted).toBeLessThanOrEqual(5)
    await Promise.all(all)
  })

  it.each<[string, Piece, () => void]>([
    ['in them', {}, () => standStill(20)],
    ['beside them', { besidesMs: 20 }, () => {}],
  ])('count the work %s, and an account that works much waits', async (_where, piece, work) => {
    const turns = createLoopTurns()
    turns.see('other')
    turns.see('many')
    const tookMs = await timed(async () => {
      for (let pieces = 0; pieces < 6; pieces += 1) {
        await turns.pause('many', piece)
        work()
      }
    })
    expect(tookMs).toBeGreaterThan(300)
    // Another account has its turn at once. On a busy machine, one of five tries may have to wait.
    const waitedMs: number[] = []
    for (let n = 0; n < 5; n += 1) waitedMs.push(await timed(() => turns.pause('other')))
    expect(Math.min(...waitedMs)).toBeLessThan(50)
  })

  it.each<Piece>([{ ofSmallBody: true }, { image: 'paid_answer' }])(
    'are not delayed for %j, also while large bodies of the same account wait',
    async (piece) => {
      const turns = await busyTurns()
      const order: string[] = []
      const large = turns.pause('many').then(() => order.push('large'))
      const tookMs = await timed(async () => {
        for (let count = 0; count < 20; count += 1) {
          await turns.pause('many', { besidesMs: 20, ...piece })
        }
      })
      order.push('undelayed')
      expect(tookMs).toBeLessThan(1_000)
      await large
      expect(order).toEqual(['undelayed', 'large'])
    },
  )
})
