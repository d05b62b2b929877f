import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { within } from '../../src/tasks/within.ts'

const limitMs = 50

/** As SIGSTOP does: nothing of this process goes on. */
function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

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
})
