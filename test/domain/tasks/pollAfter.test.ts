import { describe, expect, it } from 'vitest'
import { pollAfterSeconds } from '../../../src/domain/tasks/pollAfter.ts'

describe('the Retry-After of a lookup', () => {
  it('stays between two and five seconds, whatever the workflow waits for [lookup-4]', () => {
    expect(pollAfterSeconds(undefined, 0)).toBe(3)
    expect(pollAfterSeconds({ stage: 'calling' }, 0)).toBe(3)
    expect(pollAfterSeconds({ stage: 'storing' }, 0)).toBe(2)
    expect(pollAfterSeconds({ stage: 'waiting', untilMs: 100 }, 0)).toBe(3)
    expect(pollAfterSeconds({ stage: 'waiting', untilMs: 3_100 }, 0)).toBe(4)
    expect(pollAfterSeconds({ stage: 'waiting', untilMs: 900_000 }, 0)).toBe(5)
    expect(pollAfterSeconds({ stage: 'waiting' }, 0)).toBe(3)
  })
})
