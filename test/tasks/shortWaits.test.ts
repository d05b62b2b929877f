import { describe, expect, it } from 'vitest'
import { repeatAfterShortWaits } from '../../src/tasks/shortWaits.ts'
import type { ProduceResult } from '../../src/tasks/produceImage.ts'

const wait = (delayMs: number): ProduceResult => ({ kind: 'wait', delayMs, reason: 'slow_start' })

function script(results: readonly ProduceResult[]) {
  const left = [...results]
  const signal = new AbortController()
  const run = () =>
    repeatAfterShortWaits(async () => left.shift() ?? { kind: 'over' }, signal.signal)
  return { run, left, signal }
}

describe('a wait inside the activity', () => {
  it('is slept there while it is short', async () => {
    const { run } = script([wait(30), wait(20), { kind: 'succeeded' }])
    const startedAtMs = performance.now()
    expect(await run()).toEqual({ kind: 'succeeded' })
    expect(performance.now() - startedAtMs).toBeGreaterThanOrEqual(45)
  })

  it('tells the work from the second time on that it has asked before', async () => {
    const told: boolean[] = []
    await repeatAfterShortWaits(async (askedBefore) => {
      told.push(askedBefore)
      return told.length < 3 ? wait(1) : { kind: 'succeeded' }
    }, new AbortController().signal)
    expect(told).toEqual([false, true, true])
  })

  it('is returned when it is long', async () => {
    const { run, left } = script([wait(1_001), { kind: 'succeeded' }])
    expect(await run()).toEqual(wait(1_001))
    expect(left).toHaveLength(1)
  })

  it('is returned when the short waits before it took too long', async () => {
    const { run, left } = script([wait(1_000), wait(1_000), wait(900), wait(101), wait(1)])
    expect(await run()).toEqual(wait(101))
    expect(left).toHaveLength(1)
  })

  it('is slept there for a place on a full channel, however often', async () => {
    const inLine = Array.from({ length: 310 }, (): ProduceResult => {
      return { kind: 'wait', delayMs: 10, reason: 'channel_full' }
    })
    const { run } = script([...inLine, { kind: 'succeeded' }])
    expect(await run()).toEqual({ kind: 'succeeded' })
  })

  it.each(['backoff', 'stopping', 'not_present'] as const)(
    'is never slept there for the reason %s',
    async (reason) => {
      const short: ProduceResult = { kind: 'wait', delayMs: 1, reason }
      const { run, left } = script([short, { kind: 'succeeded' }])
      expect(await run()).toEqual(short)
      expect(left).toHaveLength(1)
    },
  )

  it('ends at once when no new call should start', async () => {
    const { run, left, signal } = script([wait(900), { kind: 'succeeded' }])
    const end = run()
    signal.abort()
    expect(await end).toEqual(wait(900))
    expect(left).toHaveLength(1)
  })
})
