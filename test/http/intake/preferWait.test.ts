import { describe, expect, it } from 'vitest'
import { readPreferWait } from '../../../src/http/intake/preferWait.ts'

describe('readPreferWait', () => {
  it.each([
    ['wait=1', 1],
    ['wait=60', 60],
    ['WAIT="5"', 5],
    ['wait = 5', 5],
    ['respond-async, wait=10', 10],
    ['return=minimal; foo="a", wait=10;hard', 10],
    ['wait=2, wait=9', 2],
  ])('reads the wait of %j', (header, seconds) => {
    expect(readPreferWait(header)).toBe(seconds)
  })

  it.each([
    'wait=0',
    'wait=61',
    'wait=-1',
    'wait=1.5',
    'wait="5',
    'await=5',
    'wait=61, wait=5',
    'foo="wait=5"',
    'foo=bar wait=5',
    // Texts that a careless pattern would try in many ways.
    'a="'.repeat(3_000),
    `a; ${' '.repeat(15_900)}"`,
    `${',\t'.repeat(8_000)}wait`,
  ])('ignores %j [wait-3]', (header) => {
    const startedAtMs = performance.now()
    expect(readPreferWait(header)).toBeUndefined()
    expect(performance.now() - startedAtMs).toBeLessThan(1_000)
  })
})
