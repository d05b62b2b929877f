import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { within } from '../../src/tasks/storedAnswer.ts'
import { standStill } from '../support/timing.ts'

const limitMs = 50

describe('a question with a limit', () => {
  afterEach(() => {
    vi.useRealTimers()
    vi.restoreAllMocks()
  })

  it('is given up at its limit', async () => {
    const asked = within(limitMs, () => sleep(1_000, 'late', { ref: false }))
    await expect(asked).rejects.toThrow('no answer in 50 ms')
  })

  it.each([300, 700])(
    'is not given up for the %s ms in which the process stood still',
    async (stoppedMs) => {
      const asked = within(limitMs, async () => {
        await sleep(1)
        standStill(stoppedMs)
        await sleep(5)
        return 'an answer'
      })
      expect(await asked).toBe('an answer')
    },
  )

  it('is given up for good when the process stands still again and again', async () => {
    vi.useFakeTimers()
    const clock = performance.now.bind(performance)
    let stoodMs = 0
    vi.spyOn(performance, 'now').mockImplementation(() => clock() + stoodMs)
    const standStillAgainAndAgain = async () => {
      for (let stops = 0; stops < 4 * limitMs; stops += 1) {
        stoodMs += 300
        await vi.advanceTimersByTimeAsync(1)
      }
    }
    await Promise.all([
      expect(within(limitMs, () => new Promise(() => {}))).rejects.toThrow('no answer'),
      standStillAgainAndAgain(),
    ])
  })
})
