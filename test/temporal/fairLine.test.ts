import { describe, expect, it } from 'vitest'
import { createFairLine } from '../../src/temporal/fairLine.ts'

type Item = { readonly accountId: string; readonly sync: boolean; readonly n: number }

function lineOf(sizeMax: number, items: readonly Item[]) {
  const line = createFairLine<Item>(sizeMax)
  const left = items.map((item) => line.add(item)).filter((item) => item !== undefined)
  return { line, left }
}

const of = (accountId: string, count: number, sync = false): Item[] =>
  Array.from({ length: count }, (_, n) => ({ accountId, sync, n }))
const named = (items: readonly Item[]) =>
  items.map(({ accountId, sync, n }) => `${sync ? 'sync ' : ''}${accountId}${n}`)

describe('a fair line', () => {
  it('gives every account its turn, each in its own order', () => {
    const { line } = lineOf(100, [...of('a', 4), ...of('b', 2), ...of('c', 1)])
    expect(line.size()).toBe(7)
    expect(named(line.drain())).toEqual(['a0', 'b0', 'c0', 'a1', 'b1', 'a2', 'a3'])
    expect([line.size(), line.take()]).toEqual([0, undefined])
  })

  it('puts who comes late behind those who have not had their turn, not behind the backlog', () => {
    const { line } = lineOf(100, of('a', 500))
    line.take()
    line.add({ accountId: 'b', sync: false, n: 0 })
    expect(named([line.take(), line.take()].filter((item) => item !== undefined))).toEqual([
      'a1',
      'b0',
    ])
  })

  it('lets synchronous calls go first', () => {
    const { line } = lineOf(100, [...of('a', 2), ...of('a', 2, true), ...of('b', 1, true)])
    expect(named(line.drain())).toEqual(['sync a0', 'sync b0', 'sync a1', 'a0', 'a1'])
  })

  it('sends away the last of the longest when it is full, and synchronous calls only then', () => {
    const { line, left } = lineOf(3, [...of('a', 3), ...of('b', 1), ...of('c', 3, true)])
    expect(named(left)).toEqual(['a2', 'a1', 'a0', 'b0'])
    expect(named(line.drain())).toEqual(['sync c0', 'sync c1', 'sync c2'])
    expect(named(lineOf(1, of('a', 2, true)).left)).toEqual(['sync a1'])
  })
})
