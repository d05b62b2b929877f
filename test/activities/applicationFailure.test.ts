import { describe, expect, it } from 'vitest'
import { waitFailure } from '../../activities/applicationFailure.ts'

const nowMs = Date.parse('2026-03-01T11:59:37Z')
const message = (wait: Omit<Parameters<typeof waitFailure>[0], 'kind' | 'delayMs'>) =>
  waitFailure({ kind: 'wait', delayMs: 60_000, ...wait }, nowMs).message

describe('the message of a wait', () => {
  it.each([
    [{ reason: 'cooldown', channel: 'b-main' }, 'b-main cools down'],
    [{ reason: 'channel_full', channel: 'b-main' }, 'b-main is full'],
    [{ reason: 'call_under_way', channel: 'b-main' }, 'an earlier call on b-main is under way'],
    [{ reason: 'backoff', channel: 'b-main' }, 'pause after a failed call on b-main'],
    [{ reason: 'stopping' }, 'this worker is stopping'],
    [{ reason: 'not_present' }, 'this worker does not reach PostgreSQL in time'],
  ] as const)('for %j says "%s" and the time at which it ends', (wait, cause) => {
    expect(message(wait)).toBe(`${cause}, until 12:00:37 UTC`)
  })

  it('for a paused channel has no time, because an operator ends the pause', () => {
    expect(message({ reason: 'channel_paused', channel: 'b-main' })).toBe('b-main is paused')
  })
})
