import { describe, expect, it } from 'vitest'
import { createStallTolerantDeadline } from '../../src/domain/stallTolerantDeadline.ts'

const bounds = { limitMs: 1_000, afterStallMs: 500, extensionsMsMax: 1_000 }

/** Asks at each delay until the deadline has passed. `stalls`: how late the nth timer fires. */
function passedAtMs(stalls: Readonly<Record<number, number>>): number {
  const deadline = createStallTolerantDeadline(bounds)
  let nowMs = 5_000
  for (let timers = 0; ; timers += 1) {
    const delayMs = deadline.nextDelayMs(nowMs)
    if (delayMs === undefined) return nowMs - 5_000
    expect(delayMs).toBeGreaterThanOrEqual(1)
    nowMs += delayMs + (stalls[timers] ?? 0)
  }
}

describe('a deadline that allows for stalls', () => {
  it('passes at its limit', () => {
    expect(passedAtMs({})).toBe(1_000)
  })

  it('leaves time to read after a stall that lasted beyond it', () => {
    expect(passedAtMs({ 1: 5_000 })).toBe(250 + 250 + 5_000 + 500)
  })

  it('moves by no more than its bound, however often the process stalls', () => {
    const always = Object.fromEntries(Array.from({ length: 100 }, (_, timer) => [timer, 500]))
    expect(passedAtMs(always)).toBeLessThan(1_000 + 1_000 + 4 * 500)
  })
})
