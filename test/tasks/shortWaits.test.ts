import { describe, expect, it } from 'vitest'
import { repeatAfterShortWaits } from '../../src/tasks/shortWaits.ts'
import type { Question } from '../../src/domain/ports/attemptStore.ts'
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

  it('tells the work which question to the gate comes', async () => {
    const told: Question[] = []
    await repeatAfterShortWaits(async (question) => {
      told.push(question)
      if (told.length > 3) return { kind: 'succeeded' }
      return told.length === 1 ? wait(1) : { kind: 'wait', delayMs: 1, reason: 'channel_full' }
    }, new AbortController().signal)
    expect(told).toEqual(['first', 'further', 'in_line', 'in_line'])
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
