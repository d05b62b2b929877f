import { describe, expect, it } from 'vitest'
import type { Cooldown } from '../../../src/domain/gate/cooldown.ts'
import { admit, afterGrant, afterRefusal, quietMs } from '../../../src/domain/gate/cooldown.ts'
import { cooldownMsMax } from '../../../src/domain/limits.ts'

const cooling: Cooldown = {
  untilMs: 10_000,
  granted: 0,
  learned: 8,
  refusals: 1,
  slotAtMs: 10_000,
  slotMs: 100,
}
const ramping: Cooldown = { ...cooling, windowAtMs: 10_000 }
const none = { asking: 0, taken: 0 }

/** How many calls may be undecided at once when this many of the window are taken. */
function undecidedMax({ granted, taken = 0 }: { granted: number; taken?: number }): number {
  for (let asking = 0; ; asking += 1) {
    const open = { asking, taken }
    const { kind } = admit({ ...ramping, granted }, { nowMs: 10_500, open, jitter: 0 })
    if (kind === 'wait') return asking
  }
}

describe('a cooldown', () => {
  it('admits no call before its end, and gives out time slots one after the other', () => {
    const first = admit(cooling, { nowMs: 7_000, open: none, jitter: 0 })
    expect(first).toMatchObject({ kind: 'wait', reason: 'cooldown', delayMs: 3_000 })
    const second = admit(first.next, { nowMs: 7_000, open: none, jitter: 0 })
    expect(second).toMatchObject({ kind: 'wait', delayMs: 3_100 })
    expect(admit(cooling, { nowMs: 9_999, open: none, jitter: 0 }).kind).toBe('wait')
  })

  it('admits one probe when it ends, and no second call at the same time', () => {
    const probe = admit(cooling, { nowMs: 10_001, open: none, jitter: 0 })
    expect(probe.kind).toBe('admitted')
    const second = admit(probe.next, { nowMs: 10_002, open: { asking: 1, taken: 0 }, jitter: 0 })
    expect(second).toMatchObject({ kind: 'wait', reason: 'slow_start' })
  })

  it('doubles the undecided calls with each taken call, up to the threshold of the last window', () => {
    expect([0, 1, 2, 3, 4, 5, 6, 7].map((granted) => undecidedMax({ granted }))).toEqual([
      1, 2, 4, 5, 4, 3, 2, 1,
    ])
  })

  it('is deleted after a while without a refusal', () => {
    const input = {
      nowMs: 10_001 + quietMs,
      openedAtMs: 10_001,
      open: none,
      concurrencyMax: 50,
    }
    expect(afterGrant(ramping, input)).toBeUndefined()
  })

  it('starts from the beginning with a refusal long after the last one', () => {
    const late = { nowMs: 10_001 + quietMs, openedAtMs: 10_001 + quietMs, inFlight: 3, open: none }
    expect(afterRefusal({ ...cooling, refusals: 5 }, late)).toMatchObject({
      learned: 3,
      refusals: 1,
    })
  })

  it('only grows longer by a late refusal of an earlier window', () => {
    const late = { nowMs: 12_000, openedAtMs: 9_000, inFlight: 1, open: none, retryAfterMs: 9_000 }
    expect(afterRefusal(ramping, late)).toEqual({ ...ramping, untilMs: 21_000 })
    expect(afterRefusal(ramping, { ...late, nowMs: 9_500, retryAfterMs: 100 })).toBe(ramping)
  })

  it('doubles from refusal to refusal when the upstream names no time, up to 30 seconds', () => {
    const lengths: number[] = []
    let state: Cooldown | undefined
    let nowMs = 0
    for (let refusals = 0; refusals < 7; refusals += 1) {
      state = afterRefusal(state, { nowMs, openedAtMs: nowMs, inFlight: 1, open: none })
      lengths.push(state.untilMs - nowMs)
      nowMs = state.untilMs + 1
      const probe = admit(state, { nowMs, open: none, jitter: 0 })
      state = probe.next
    }
    expect(lengths).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
  })

  it('learns from a refusal the threshold and the distance of the time slots', () => {
    const waitedFor = { ...ramping, granted: 10, slotAtMs: 12_100 }
    const next = afterRefusal(waitedFor, {
      nowMs: 12_000,
      openedAtMs: 11_900,
      inFlight: 1,
      open: none,
      retryAfterMs: 3_000,
    })
    expect(next).toMatchObject({ untilMs: 15_000, learned: 10, slotMs: 250, granted: 0 })
    expect(next.windowAtMs).toBeUndefined()
  })

  it('grows beyond a Retry-After that was too short again and again', () => {
    const lengths: number[] = []
    let state: Cooldown | undefined
    let nowMs = 0
    for (let refusals = 0; refusals < 11; refusals += 1) {
      state = afterRefusal(state, {
        nowMs,
        openedAtMs: nowMs,
        inFlight: 1,
        open: none,
        retryAfterMs: 2_000,
      })
      lengths.push(Math.round(state.untilMs - nowMs))
      nowMs = state.untilMs + 1
      state = admit(state, { nowMs, open: none, jitter: 0 }).next
    }
    expect(lengths).toEqual([
      2_000, 2_000, 2_000, 2_000, 2_250, 3_375, 5_063, 7_594, 11_391, 15_000, 15_000,
    ])
  })

  it('follows Retry-After for at most fifteen minutes', () => {
    const year = {
      nowMs: 0,
      openedAtMs: 0,
      inFlight: 1,
      open: none,
      retryAfterMs: 365 * 86_400_000,
    }
    expect(afterRefusal(undefined, year).untilMs).toBe(cooldownMsMax)
  })
})
