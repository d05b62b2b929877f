import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { withTimeout } from '../../src/domain/withTimeout.ts'
import { retryFor } from '../../src/tasks/timeLimits.ts'

describe('retryFor', () => {
  it('returns the first result, and throws the last error after its limit', async () => {
    let tries = 0
    const effect = async () => {
      tries += 1
      if (tries < 3) throw new Error(`try ${tries}`)
      return 'done'
    }
    expect(await retryFor(5_000, effect)).toBe('done')
    tries = 0
    await expect(retryFor(150, effect)).rejects.toThrow('try 2')
  })
})

const limitMs = 50

describe('withTimeout', () => {
  it('fails at its limit', async () => {
    const asked = withTimeout(limitMs, () => sleep(1_000, 'late', { ref: false }))
    await expect(asked).rejects.toThrow('no answer in 50 ms')
  })
})
