import { describe, expect, it } from 'vitest'
import { createFairQueue } from '../../src/domain/fairQueue.ts'

type Item = { readonly accountId: string; readonly sync: boolean; readonly n: number }

function queueOf(sizeMax: number, items: readonly Item[]) {
  const queue = createFairQueue<Item>(sizeMax)
  const evicted = items.map((item) => queue.add(item)).filter((item) => item !== undefined)
  return { queue, evicted }
}

const of = (accountId: string, count: number, sync = false): Item[] =>
  Array.from({ length: count }, (_, n) => ({ accountId, sync, n }))
const named = (items: readonly Item[]) =>
  items.map(({ accountId, sync, n }) => `${sync ? 'sync ' : ''}${accountId}${n}`)

describe('a fair queue', () => {
  it('lets accounts take turns and keeps the order within each account', () => {
    const { queue } = queueOf(100, [...of('a', 4), ...of('b', 2), ...of('c', 1)])
    expect(queue.size()).toBe(7)
    expect(named(queue.drain())).toEqual(['a0', 'b0', 'c0', 'a1', 'b1', 'a2', 'a3'])
    expect([queue.size(), queue.take()]).toEqual([0, undefined])
  })

  it('takes synchronous items first', () => {
    const { queue } = queueOf(100, [...of('a', 2), ...of('a', 2, true), ...of('b', 1, true)])
    expect(named(queue.drain())).toEqual(['sync a0', 'sync b0', 'sync a1', 'a0', 'a1'])
  })

  it('evicts the newest item of the account with the most items, and synchronous items last', () => {
    const { queue, evicted } = queueOf(3, [...of('a', 3), ...of('b', 1), ...of('c', 3, true)])
    expect(named(evicted)).toEqual(['a2', 'a1', 'a0', 'b0'])
    expect(named(queue.drain())).toEqual(['sync c0', 'sync c1', 'sync c2'])
    expect(named(queueOf(1, of('a', 2, true)).evicted)).toEqual(['sync a1'])
  })
})
