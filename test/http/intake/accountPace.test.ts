import { beforeEach, describe, expect, it } from 'vitest'
import type { AccountPace } from '../../../src/http/intake/accountPace.ts'
import { createAccountPace } from '../../../src/http/intake/accountPace.ts'

let nowMs = 0
let pace: AccountPace
beforeEach(() => {
  nowMs = 0
  pace = createAccountPace(() => nowMs)
})

/** Works as fast as the pace allows for `forMs`, in pieces of 2 ms. Returns how long it worked. */
function work(accountId: string, forMs: number): number {
  const endsAtMs = nowMs + forMs
  let workedMs = 0
  for (;;) {
    nowMs += pace.delayMs(accountId)
    if (nowMs >= endsAtMs) return workedMs
    pace.charge(accountId, 2)
    nowMs += 2
    workedMs += 2
  }
}

describe('the pace of an account', () => {
  it('is a sixteenth of the time while another account makes requests', () => {
    pace.see('other')
    pace.see('many')
    work('many', 1_000)
    pace.see('other')
    const workedMs = work('many', 8_000)
    expect(workedMs).toBeGreaterThan(0.05 * 8_000)
    expect(workedMs).toBeLessThan(0.07 * 8_000)
    expect(pace.delayMs('other')).toBe(0)
    nowMs += 1_000
    expect(pace.delayMs('many')).toBe(0)
  })

  it('is all of the time for an account that is alone, which makes up for less than a second', () => {
    pace.see('other')
    nowMs += 10_001
    pace.see('many')
    pace.see('many')
    expect(work('many', 60_000)).toBe(60_000)
    pace.see('other')
    expect(pace.delayMs('many')).toBeGreaterThan(300)
    expect(pace.delayMs('many')).toBeLessThan(1_000)
  })
})
