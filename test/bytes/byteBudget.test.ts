import { describe, expect, it } from 'vitest'
import { createByteBudget } from '../../src/bytes/byteBudget.ts'

const mebibyte = 1024 * 1024

/** A budget of eight mebibytes, four of them at most for one account. */
const create = () => createByteBudget({ bytesMax: 8 * mebibyte, freeBytes: 100 })

/** Resolves to `waiting` when the room is not there at once. */
async function nowOrWaiting(covered: true | Promise<boolean>): Promise<boolean | 'waiting'> {
  const later = new Promise<'waiting'>((resolve) => setImmediate(resolve, 'waiting'))
  return Promise.race([covered, later])
}

describe('a byte budget', () => {
  it('gives the first bytes of a body without room, also when all room is taken', async () => {
    const budget = create()
    for (const account of ['a', 'b'])
      expect(await budget.open(account).cover(4 * mebibyte)).toBe(true)
    expect(budget.open('c').cover(100)).toBe(true)
    expect(await nowOrWaiting(budget.open('c').cover(101))).toBe('waiting')
  })

  it('lets the oldest body go on beyond the budget, and the others wait for its end', async () => {
    const budget = create()
    const [oldest, second] = [budget.open('a'), budget.open('b')]
    expect(await oldest.cover(4 * mebibyte)).toBe(true)
    expect(await second.cover(4 * mebibyte)).toBe(true)
    const later = second.cover(5 * mebibyte)
    expect(await nowOrWaiting(later)).toBe('waiting')
    expect(await nowOrWaiting(oldest.cover(20 * mebibyte))).toBe(true)
    oldest.end()
    expect(await later).toBe(true)
  })

  it('leaves half of it to other accounts, whatever the bodies of one account want', async () => {
    const budget = create()
    const rooms = Array.from({ length: 8 }, () => budget.open('a'))
    const covered = rooms.map((room) => room.cover(mebibyte))
    expect(await Promise.all(covered.map(nowOrWaiting))).toEqual([
      true,
      true,
      true,
      true,
      'waiting',
      'waiting',
      'waiting',
      'waiting',
    ])
    const other = budget.open('b')
    expect(await nowOrWaiting(other.cover(4 * mebibyte))).toBe(true)
    rooms[0]?.end()
    expect(await covered[4]).toBe(true)
  })

  it('lets the oldest body of an account beyond the share of its account, so that its bodies never block each other', async () => {
    const budget = create()
    const slow = budget.open('slow')
    await slow.cover(mebibyte)
    const [first, second] = [budget.open('a'), budget.open('a')]
    await Promise.all([first.cover(2 * mebibyte), second.cover(2 * mebibyte)])
    expect(await nowOrWaiting(second.cover(3 * mebibyte))).toBe('waiting')
    expect(await nowOrWaiting(first.cover(5 * mebibyte))).toBe(true)
  })

  it('admits those who wait by age, not in the order in which they asked', async () => {
    const budget = create()
    const oldest = budget.open('a')
    await oldest.cover(4 * mebibyte)
    const [older, younger] = [budget.open('b'), budget.open('c')]
    await older.cover(2 * mebibyte)
    await younger.cover(2 * mebibyte)
    const order: string[] = []
    const done = [younger.cover(5 * mebibyte), older.cover(5 * mebibyte)].map(
      async (covered, i) => (await covered) && order.push(i === 0 ? 'younger' : 'older'),
    )
    oldest.end()
    await done[1]
    older.end()
    await done[0]
    expect(order).toEqual(['older', 'younger'])
  })

  it('answers no when there is no room in time, and when the body ends meanwhile', async () => {
    const budget = create()
    await budget.open('a').cover(8 * mebibyte)
    expect(await budget.open('b').cover(mebibyte, 5)).toBe(false)
    const left = budget.open('b')
    const covered = left.cover(mebibyte)
    left.end()
    left.end()
    expect(await covered).toBe(false)
  })
})
