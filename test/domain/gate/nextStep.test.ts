import { describe, expect, it } from 'vitest'
import { nextStep } from '../../../src/domain/gate/nextStep.ts'
import type { PastAttempt, ChannelState, TaskFacts } from '../../../src/domain/gate/taskFacts.ts'
import { testChannel } from '../../support/database/testAttempts.ts'
const nowMs = 1_000_000

function state(name: string, known: Partial<ChannelState> = {}): ChannelState {
  return {
    channel: testChannel({ name, concurrencyMax: 4 }),
    paused: false,
    inFlight: 0,
    inFlightOfModel: 0,
    open: { asking: 0, taken: 0 },
    ahead: 0,
    ...known,
  }
}

function past(attempt: Partial<PastAttempt> & Pick<PastAttempt, 'class'>): PastAttempt {
  return { channel: 'one', reason: 'server_error', closedAtMs: nowMs - 60_000, ...attempt }
}

function facts(known: Partial<TaskFacts> = {}): TaskFacts {
  return {
    nowMs,
    ageMs: 0,
    deadlineAtMs: nowMs + 600_000,
    sync: false,
    past: [],
    channels: [state('one'), state('two')],
    callsMax: 3,
    jitter: 0,
    ...known,
  }
}

const cooldown = {
  untilMs: nowMs + 20_000,
  granted: 0,
  learned: 1,
  refusals: 1,
  slotAtMs: nowMs + 20_000,
  slotMs: 10,
}

describe('the next step of a task', () => {
  it('is a call on the first channel in the order of the file', () => {
    expect(nextStep(facts())).toMatchObject({ kind: 'call', channel: { name: 'one' } })
  })

  it.each([
    ['paused', { paused: true }],
    ['full', { inFlight: 4 }],
    ['cooling down', { cooldown }],
  ])('passes over a channel that is %s', (_, known) => {
    const step = nextStep(facts({ channels: [state('one', known), state('two')] }))
    expect(step).toMatchObject({ kind: 'call', channel: { name: 'two' } })
  })

  it('waits in line on every full channel, also on one whose free place belongs to an earlier task', () => {
    const channels = [
      state('one', { inFlight: 4 }),
      state('two', { inFlight: 3, ahead: 2 }),
      state('three', { cooldown }),
    ]
    expect(nextStep(facts({ channels }))).toMatchObject({
      kind: 'wait',
      reason: 'channel_full',
      channel: 'one',
      inLine: ['one', 'two'],
      delayMs: 100,
    })
    const turn = [state('one', { inFlight: 4 }), state('two', { inFlight: 2, ahead: 1 })]
    expect(nextStep(facts({ channels: turn }))).toMatchObject({ kind: 'call' })
  })

  it('never moves to another channel after an unknown outcome', () => {
    const channels = [state('one'), state('two', { paused: true })]
    const step = nextStep(facts({ channels, past: [past({ class: 'unknown', channel: 'two' })] }))
    expect(step).toMatchObject({ kind: 'wait', reason: 'channel_paused', channel: 'two' })
  })

  it('stays with the channel of an unknown outcome when it refuses later', () => {
    const unknown = past({ class: 'unknown' })
    const refused = past({ class: 'refused' })
    const channels = [state('one', { cooldown }), state('two')]
    expect(nextStep(facts({ channels, past: [unknown, refused] }))).toMatchObject({
      kind: 'wait',
      channel: 'one',
    })
    expect(nextStep(facts({ channels, past: [unknown, refused], sync: true }))).toMatchObject({
      kind: 'end',
      failure: { code: 'rate_limit_exceeded', workPossible: true },
    })
    expect(nextStep(facts({ channels, past: [refused] }))).toMatchObject({ kind: 'call' })
  })

  it('backs off after an unknown outcome, longer after the second', () => {
    const once = past({ class: 'unknown', closedAtMs: nowMs })
    expect(nextStep(facts({ past: [once] }))).toMatchObject({ reason: 'backoff', delayMs: 1_000 })
    expect(nextStep(facts({ past: [once, once] }))).toMatchObject({ delayMs: 4_000 })
  })

  it('waits after an unknown outcome at least as long as the upstream asked, also when a client waits', () => {
    const asked = past({ class: 'unknown', closedAtMs: nowMs, retryAfterMs: 30_000 })
    for (const sync of [false, true]) {
      const step = nextStep(facts({ past: [asked], sync, deadlineAtMs: nowMs + 60_000 }))
      expect(step).toMatchObject({ kind: 'wait', reason: 'backoff', delayMs: 30_000 })
    }
  })

  it('ends at once when the upstream asked for a wait beyond the deadline after an unknown outcome', () => {
    const asked = past({ class: 'unknown', closedAtMs: nowMs, retryAfterMs: 30_000 })
    expect(nextStep(facts({ past: [asked], deadlineAtMs: nowMs + 30_000 }))).toEqual({
      kind: 'end',
      failure: { code: 'upstream_error', cause: 'unknown', workPossible: true },
    })
  })

  it('backs off when the inputs could not be read, and blames no channel', () => {
    const once = past({ class: 'refused', reason: 'inputs_unreadable', closedAtMs: nowMs })
    for (const sync of [false, true]) {
      const step = nextStep(facts({ past: [once, once], sync }))
      expect(step).toMatchObject({ kind: 'wait', reason: 'backoff', delayMs: 4_000 })
    }
    const earlier = { ...once, closedAtMs: nowMs - 60_000 }
    expect(nextStep(facts({ past: [earlier], sync: true }))).toMatchObject({
      kind: 'call',
      channel: { name: 'one' },
    })
  })

  it('ends when as many calls as allowed may have done work', () => {
    const unknown = past({ class: 'unknown' })
    expect(nextStep(facts({ past: [unknown, unknown, unknown] }))).toEqual({
      kind: 'end',
      failure: { code: 'upstream_error', cause: 'unknown', workPossible: true },
    })
  })

  it('ends after one hundred refusals', () => {
    const refusals = Array.from({ length: 100 }, () => past({ class: 'refused' }))
    expect(nextStep(facts({ past: refusals.slice(1) }))).toMatchObject({ kind: 'call' })
    expect(nextStep(facts({ past: refusals }))).toMatchObject({
      kind: 'end',
      failure: { code: 'rate_limit_exceeded', cause: 'refused', workPossible: false },
    })
  })

  it.each([
    ['content_policy', 'content_policy_violation'],
    ['no_image', 'no_image_generated'],
    ['invalid_request', 'upstream_invalid_request'],
  ] as const)('ends at once when the upstream rejects: %s', (reason, code) => {
    expect(nextStep(facts({ past: [past({ class: 'rejected', reason })] }))).toEqual({
      kind: 'end',
      failure: { code, cause: 'rejected', workPossible: false },
    })
  })

  it('skips a channel that is out of quota, and ends when none is left', () => {
    const first = past({ class: 'exhausted', reason: 'quota_exhausted' })
    expect(nextStep(facts({ past: [first] }))).toMatchObject({ channel: { name: 'two' } })
    expect(nextStep(facts({ past: [first, { ...first, channel: 'two' }] }))).toMatchObject({
      kind: 'end',
      failure: { code: 'rate_limit_exceeded', cause: 'exhausted' },
    })
  })

  it.each([
    ['exhausted', 'rate_limit_exceeded', 'exhausted'],
    ['operator_fault', 'upstream_error', 'operator_fault'],
  ] as const)('ends with the latest outcome of its only channel: %s', (outcome, code, cause) => {
    const channels = [state('one')]
    const refused = past({ class: 'refused', retryAfterMs: 70_000 })
    const closed = [refused, past({ class: outcome, reason: 'credential' })]
    expect(nextStep(facts({ channels, past: closed }))).toEqual({
      kind: 'end',
      failure: { code, cause, workPossible: false },
    })
  })

  it('ends at the deadline with a timeout, or with the last refusal', () => {
    const late = { deadlineAtMs: nowMs }
    expect(nextStep(facts(late))).toMatchObject({ failure: { code: 'generation_timeout' } })
    const refused = [past({ class: 'refused' })]
    expect(nextStep(facts({ ...late, past: refused }))).toMatchObject({
      failure: { code: 'rate_limit_exceeded' },
    })
  })

  it('ends at once when a cooldown passes the deadline', () => {
    const channels = [state('one', { cooldown })]
    expect(nextStep(facts({ channels, deadlineAtMs: nowMs + 19_000 }))).toMatchObject({
      kind: 'end',
      failure: { code: 'rate_limit_exceeded', retryAfterMs: 20_000 },
    })
    expect(nextStep(facts({ channels, deadlineAtMs: nowMs + 21_000 }))).toMatchObject({
      kind: 'wait',
      reason: 'cooldown',
      delayMs: 20_000,
    })
  })

  it('passes a refusal on to a synchronous caller once every channel has refused', () => {
    const refused = past({ class: 'refused', closedAtMs: nowMs, retryAfterMs: 7_000 })
    const first = nextStep(facts({ sync: true, past: [refused] }))
    expect(first).toMatchObject({ kind: 'call', channel: { name: 'two' } })
    const second = { ...refused, channel: 'two' }
    expect(nextStep(facts({ sync: true, past: [refused, second] }))).toEqual({
      kind: 'end',
      failure: {
        code: 'rate_limit_exceeded',
        cause: 'refused',
        workPossible: false,
        retryAfterMs: 7_000,
      },
    })
  })

  it('tells a synchronous caller the earliest Retry-After of its channels', () => {
    const at = { closedAtMs: nowMs, class: 'refused' } as const
    const told = past({ ...at, retryAfterMs: 90_000 })
    const sooner = past({ ...at, channel: 'two', retryAfterMs: 7_000 })
    const silent = past({ ...at, channel: 'two', reason: 'not_sent' })
    const waitMs = (closed: readonly PastAttempt[]) =>
      nextStep(facts({ sync: true, past: [told, ...closed] }))
    const refused = { code: 'rate_limit_exceeded', cause: 'refused' }
    expect(waitMs([sooner])).toMatchObject({ failure: { ...refused, retryAfterMs: 7_000 } })
    expect(waitMs([silent])).toMatchObject({ failure: { ...refused, retryAfterMs: 90_000 } })
    const over = { ...sooner, retryAfterMs: 0, closedAtMs: nowMs - 1 }
    expect(waitMs([over])).toMatchObject({ failure: { ...refused, retryAfterMs: 0 } })
  })

  it('lets a synchronous caller wait for a short cooldown, and tells it about a long one', () => {
    const short = { ...cooldown, untilMs: nowMs + 2_000, slotAtMs: nowMs + 2_000 }
    const soon = nextStep(facts({ sync: true, channels: [state('one', { cooldown: short })] }))
    expect(soon).toMatchObject({ kind: 'wait', delayMs: 2_000 })
    const paused = state('two', { paused: true })
    const channels = [state('one', { cooldown }), paused]
    expect(nextStep(facts({ channels }))).toMatchObject({ reason: 'channel_paused' })
    const long = nextStep(facts({ sync: true, channels }))
    const failure = { code: 'rate_limit_exceeded', retryAfterMs: 20_000 }
    expect(long).toMatchObject({ kind: 'end', failure })
  })

  it('reports possible work, however the task ends', () => {
    const unknown = past({ class: 'unknown' })
    const rejected = past({ class: 'rejected', reason: 'invalid_request' })
    expect(nextStep(facts({ past: [unknown, rejected] }))).toMatchObject({
      failure: { code: 'upstream_invalid_request', workPossible: true },
    })
  })
})
