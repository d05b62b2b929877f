import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createSparingWithin } from '../../src/tasks/sparingWithin.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('a question that was given up', () => {
  it.each(['resolve', 'reject'] as const)(
    'is followed by no other until it ends: it may %s',
    async (how) => {
      const soon = createSparingWithin()
      const late = Promise.withResolvers<string>()
      await Promise.all([
        expect(soon(1_000, () => late.promise)).rejects.toThrow('no answer in 1000 ms'),
        vi.advanceTimersByTimeAsync(1_000),
      ])
      const ask = () => soon(1_000, async () => 'an answer')
      await vi.advanceTimersByTimeAsync(60_000)
      await expect(ask()).rejects.toThrow('not asked')
      late[how]('late')
      await vi.advanceTimersByTimeAsync(0)
      expect(await ask()).toBe('an answer')
    },
  )
})

it('asks on after a failure that came in time', async () => {
  const soon = createSparingWithin()
  const fail = () => soon(1_000, () => Promise.reject(new Error('refused')))
  await expect(fail()).rejects.toThrow('refused')
  await expect(fail()).rejects.toThrow('refused')
})
