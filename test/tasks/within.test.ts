import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { within } from '../../src/tasks/within.ts'
import { standStill } from '../support/standStill.ts'

const limitMs = 50

describe('a question with a limit', () => {
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
    const startedAtMs = performance.now()
    const stopping = setInterval(() => standStill(300), 1)
    onTestFinished(() => clearInterval(stopping))
    const asked = within(limitMs, () => sleep(60_000, 'late', { ref: false }))
    await expect(asked).rejects.toThrow('no answer in 50 ms')
    expect(performance.now() - startedAtMs).toBeLessThan(20_000)
  })
})
