import { describe, expect, it } from 'vitest'
import { defined } from '../../../src/domain/defined.ts'
import { nextStep } from '../../../src/domain/gate/nextStep.ts'
import type {
  ChannelState,
  NextStep,
  PastAttempt,
  TaskFacts,
} from '../../../src/domain/gate/taskFacts.ts'
import { testChannel } from '../../support/database/testAttempts.ts'

const nowMs = 1_000_000

const one = state('one')
const two = state('two')
const paused = { bar: 'paused' } as const
const full = { bar: 'full' } as const
const cooling = { bar: 'cooldown', untilAtMs: nowMs + 20_000, fault: false } as const
const coolingSoon = { ...cooling, untilAtMs: nowMs + 2_000 }
const faulty = { ...cooling, fault: true } as const

const open = { n: 1, channel: 'one', answerId: 'an-1', lost: false } as const

const unknown = past({ class: 'unknown' })
const justUnknown = past({ class: 'unknown', closedAtMs: nowMs })
const lost = past({ class: 'unknown', reason: 'worker_lost', answerId: 'an-lost' })
const refused = past({ class: 'refused', reason: 'rate_limited', retryAfterMs: 70_000 })
const justRefused = { ...refused, closedAtMs: nowMs, retryAfterMs: 7_000 }
const exhausted = past({ class: 'exhausted', reason: 'quota_exhausted' })
const fault = past({ class: 'operator_fault', reason: 'credential' })
const declined = past({ class: 'declined', reason: 'forbidden' })
const justDeclined = { ...declined, closedAtMs: nowMs }
const free = past({ class: 'refused', reason: 'server_error' })
const justFree = { ...free, closedAtMs: nowMs }
const inProgress = past({ class: 'unknown', reason: 'in_progress' })
const justInProgress = { ...inProgress, closedAtMs: nowMs }
/** The timeout of the test's channel is over, counted from the call of `unknown`. */
const timeoutIsOver = { ...inProgress, openedAtMs: nowMs, closedAtMs: nowMs + 10_000_000 }
const unread = past({ class: 'refused', reason: 'inputs_unreadable', closedAtMs: nowMs })

function state(name: string, known: Partial<ChannelState> = {}): ChannelState {
  return { channel: testChannel({ name, concurrencyMax: 4, timeoutMs: 300_000 }), ...known }
}

type Given = Pick<PastAttempt, 'class'> &
  Partial<Omit<PastAttempt, 'retryAfterMs'>> & { readonly retryAfterMs?: number }

function past(attempt: Given): PastAttempt {
  const at = { openedAtMs: nowMs - 70_000, closedAtMs: nowMs - 60_000 }
  return { n: 1, answerId: 'an-1', channel: 'one', ...at, reason: 'server_error', ...attempt }
}

function on(channel: string, attempt: PastAttempt): PastAttempt {
  return { ...attempt, channel }
}

type Known = Partial<TaskFacts> & { readonly looked?: readonly string[]; readonly givenUp?: true }

function step({ looked = [], givenUp, ...known }: Known): NextStep {
  const facts: TaskFacts = {
    nowMs,
    createdAtMs: nowMs,
    deadlineAtMs: nowMs + 600_000,
    hardEndAtMs: nowMs + 900_000,
    accountId: 'acct',
    family: 'B',
    model: 'familyb-image-2-vip',
    requestBytes: 100,
    sync: false,
    attempts: known.past?.length ?? 0,
    past: [],
    channels: [one, two],
    ...known,
  }
  const terms = { callsMax: 3, jitter: 0, looked: new Set(looked), givenUp: givenUp === true }
  return nextStep(facts, terms)
}

const call = (channel: string, n = 1) => ({ kind: 'call', n, channel: { name: channel } })
const wait = (reason: string, delayMs: number, channel = 'one') => ({
  kind: 'wait',
  reason,
  delayMs,
  channel,
})
const end = (code: string, cause: string, workPossible = false, more = {}) => ({
  kind: 'end',
  failure: { code, cause, workPossible, ...more },
})
const limited = (retryAfterMs?: number) =>
  end('rate_limit_exceeded', 'refused', false, defined({ retryAfterMs }))
const operatorFault = end('upstream_error', 'operator_fault')
const maybeMade = end('upstream_error', 'unknown', true)
const notMade = end('upstream_error', 'unknown')
const hundred = Array.from({ length: 100 }, () => refused)

type Row = readonly [title: string, known: Known, expected: object]

const waitedFor = (cases: readonly Row[]) =>
  cases.map(([title, known, expected]): Row => [title, { ...known, sync: true }, expected])

const rows: Readonly<Record<string, readonly Row[]>> = {
  'calls a channel': [
    ['first in the order of the file', {}, call('one')],
    ['past one that is paused', { channels: [state('one', paused), two] }, call('two')],
    ['again after a refusal', { past: [refused] }, call('one', 2)],
    ['other than one whose quota is used up', { past: [exhausted] }, call('two', 2)],
    [
      'other than one that refused it while a client waits',
      { sync: true, past: [refused] },
      call('two', 2),
    ],
    ['other than one that has just declined it', { past: [justDeclined] }, call('two', 2)],
    [
      'again 30 s after it declined',
      { past: [{ ...declined, closedAtMs: nowMs - 30_000 }] },
      call('one', 2),
    ],
    [
      'other than one whose vendor failed without work, when there is one',
      { past: [free], sync: true },
      call('two', 2),
    ],
    ['where its vendor failed less', { past: [free, on('two', free), free] }, call('two', 4)],
    [
      'again 15 s after it said that an earlier call may still run, more often than calls may do work',
      { past: [unknown, ...Array<PastAttempt>(9).fill(inProgress)] },
      call('one', 11),
    ],
    [
      'that it could not call before while a client waits',
      { sync: true, past: [{ ...unread, closedAtMs: 0 }] },
      call('one', 2),
    ],
  ],
  'stays with the channel of an unknown outcome': [
    ['although another one is free', { past: [on('two', unknown)] }, call('two', 2)],
    [
      'and waits for it',
      { past: [on('two', unknown)], channels: [one, state('two', paused)] },
      wait('channel_paused', 15_000, 'two'),
    ],
    [
      'and ends when it refuses a waiting client',
      { sync: true, past: [unknown, refused] },
      end('rate_limit_exceeded', 'refused', true),
    ],
  ],
  'looks for a stored answer': [
    [
      'of an open attempt that is lost',
      { open: { ...open, lost: true }, attempts: 1 },
      { kind: 'look', answerId: 'an-1' },
    ],
    [
      'of an open attempt at the hard end',
      { open, attempts: 1, hardEndAtMs: nowMs },
      { kind: 'look', answerId: 'an-1' },
    ],
    [
      'of an attempt that counted as lost, before a further call',
      { past: [lost] },
      { kind: 'look', answerId: 'an-lost' },
    ],
    [
      'before it ends',
      { past: [lost], deadlineAtMs: nowMs },
      { kind: 'look', answerId: 'an-lost' },
    ],
    ['once', { past: [lost], looked: ['an-lost'] }, call('one', 2)],
    ['not when the worker saw how the call ended', { past: [unknown, refused] }, call('one', 3)],
  ],
  'with a call under way': [
    ['waits for it', { open }, wait('call_under_way', 2_500)],
    [
      'waits until it is closed when it is lost and has no answer',
      { open: { ...open, lost: true }, looked: ['an-1'] },
      wait('call_under_way', 2_500),
    ],
    [
      'ends at the hard end',
      { open, looked: ['an-1'], hardEndAtMs: nowMs },
      end('generation_timeout', 'deadline', true),
    ],
  ],
  pauses: [
    ['after an unknown outcome', { past: [justUnknown] }, wait('backoff', 1_000)],
    [
      'as long as the upstream asked',
      { past: [{ ...justUnknown, retryAfterMs: 30_000 }] },
      wait('backoff', 30_000),
    ],
    ['when the vendor failed without work', { past: [free, justFree] }, wait('backoff', 4_000)],
    [
      '15 s while an earlier call may still run',
      { past: [unknown, unknown, justInProgress] },
      wait('backoff', 15_000),
    ],
    ['when its inputs could not be read', { past: [unread, unread] }, wait('backoff', 4_000)],
    [
      'to the deadline at most',
      { past: [justUnknown], deadlineAtMs: nowMs + 500 },
      wait('backoff', 500),
    ],
    [
      'not beyond the deadline, because the upstream asked',
      { past: [{ ...justUnknown, retryAfterMs: 30_000 }], deadlineAtMs: nowMs + 30_000 },
      maybeMade,
    ],
  ],
  waits: [
    [
      'in line on every channel where a place may come free',
      { channels: [state('one', full), state('two', full), state('three', cooling)] },
      { ...wait('channel_full', 4_000), inLine: ['one', 'two'] },
    ],
    [
      'for the shortest cooldown',
      { channels: [state('one', cooling), state('two', coolingSoon)] },
      wait('cooldown', 2_000, 'two'),
    ],
    [
      'in line for the end of a short cooldown while a client waits',
      { sync: true, channels: [state('one', cooling), state('two', coolingSoon)] },
      { ...wait('cooldown', 2_000, 'two'), inLine: ['two'] },
    ],
    [
      'in line for a place too while a client waits, also when a cooldown ends before',
      { sync: true, channels: [state('one', full), state('two', coolingSoon)] },
      { ...wait('channel_full', 4_000), inLine: ['one', 'two'] },
    ],
    ['for a fault of its channel', { channels: [state('one', faulty)] }, wait('cooldown', 15_000)],
    [
      'for a pause a quarter of a minute',
      { channels: [state('one', paused)] },
      wait('channel_paused', 15_000),
    ],
    [
      'for a pause a minute when it is old',
      { createdAtMs: 0, channels: [state('one', paused)] },
      wait('channel_paused', 60_000),
    ],
    [
      '30 s for a channel that has declined it',
      { past: [justDeclined], channels: [one] },
      wait('declined', 30_000),
    ],
    [
      '2 minutes when it declined again',
      { past: [declined, justDeclined], channels: [one] },
      wait('declined', 120_000),
    ],
    [
      '8 minutes when it declined a third time, and not in line',
      { past: [declined, declined, justDeclined], channels: [state('one', full)] },
      wait('declined', 480_000),
    ],
    [
      'for the channel of an unknown outcome that has declined it since',
      { past: [unknown, justDeclined] },
      wait('declined', 30_000),
    ],
    [
      'to the deadline at most',
      { channels: [state('one', paused)], deadlineAtMs: nowMs + 7_000 },
      wait('channel_paused', 7_000),
    ],
  ],
  ends: [
    [
      'when the upstream rejects the content',
      { past: [past({ class: 'rejected', reason: 'content_policy' })] },
      end('content_policy_violation', 'rejected'),
    ],
    [
      'when the upstream makes no image',
      { past: [past({ class: 'rejected', reason: 'no_image' })] },
      end('no_image_generated', 'rejected'),
    ],
    ['when three calls may have done work', { past: [unknown, unknown, unknown] }, maybeMade],
    [
      'when an answer says that a call may still run whose time is over',
      { past: [unknown, timeoutIsOver, timeoutIsOver] },
      maybeMade,
    ],
    [
      'when its vendor failed five times without work',
      { past: Array<PastAttempt>(5).fill(free) },
      notMade,
    ],
    ['after a hundred refusals', { past: hundred }, limited(10_000)],
    ['at the deadline', { deadlineAtMs: nowMs }, end('generation_timeout', 'deadline')],
    ['at the deadline with the last refusal', { deadlineAtMs: nowMs, past: [refused] }, limited()],
    ['when it is given up', { givenUp: true }, notMade],
    [
      'when the quota of every channel is used up',
      { past: [exhausted, on('two', exhausted)] },
      end('rate_limit_exceeded', 'exhausted'),
    ],
    [
      'when every channel has declined it four times',
      { past: [declined, on('two', declined)].flatMap((each) => Array(4).fill(each)) },
      operatorFault,
    ],
    [
      'when the pause after a decline passes the deadline',
      { past: [justDeclined], channels: [one], deadlineAtMs: nowMs + 29_000 },
      operatorFault,
    ],
    [
      'with the latest outcome of its only channel',
      { past: [refused, fault], channels: [one] },
      operatorFault,
    ],
    [
      'when a cooldown passes the deadline',
      { channels: [state('one', cooling)], deadlineAtMs: nowMs + 19_000 },
      limited(20_000),
    ],
    [
      'when a fault passes the deadline',
      { channels: [state('one', faulty)], deadlineAtMs: nowMs + 19_000 },
      operatorFault,
    ],
  ],
  'ends while a client waits': waitedFor([
    [
      'with the earliest Retry-After of its channels',
      { past: [refused, on('two', justRefused)] },
      limited(7_000),
    ],
    [
      'with none that has passed',
      { past: [justRefused, on('two', { ...refused, closedAtMs: 0 })] },
      limited(0),
    ],
    [
      'for a cooldown that is as long as its deadline',
      { channels: [state('one', coolingSoon)], deadlineAtMs: nowMs + 2_000 },
      limited(2_000),
    ],
    [
      'for a long cooldown, also beside a paused channel',
      { channels: [state('one', cooling), state('two', paused)] },
      limited(20_000),
    ],
    [
      'when every channel has declined it once',
      { past: [declined, on('two', declined)] },
      operatorFault,
    ],
    ['for a paused channel', { channels: [state('one', paused)] }, operatorFault],
    ['for a fault of its channel', { channels: [state('one', faulty)] }, operatorFault],
  ]),
}

for (const [what, cases] of Object.entries(rows)) {
  describe(`a task ${what}`, () => {
    it.each(cases)('%s', (_title, known, expected) => {
      expect(step(known)).toMatchObject(expected)
    })
  })
}

describe('a task whose model only the files of other workers name', () => {
  const left = { model: 'house', channels: [] } as const

  it('waits for them, longer when it is older, and fails at its deadline [ownmodel-5]', () => {
    const wait = { kind: 'wait', reason: 'unknown_model' }
    expect(step(left)).toEqual({ ...wait, delayMs: 2_000 })
    expect(step({ ...left, sync: true })).toEqual({ ...wait, delayMs: 2_000 })
    expect(step({ ...left, createdAtMs: nowMs - 100_000 })).toEqual({ ...wait, delayMs: 10_000 })
    expect(step({ ...left, deadlineAtMs: nowMs + 500 })).toEqual({ ...wait, delayMs: 500 })
    const failure = { code: 'upstream_error', cause: 'unknown', workPossible: false }
    expect(step({ ...left, deadlineAtMs: nowMs })).toEqual({ kind: 'end', failure })
  })

  it('is ended by its calls and settled by its answer like any other', () => {
    expect(step({ ...left, past: [lost] })).toMatchObject({ kind: 'look' })
    expect(step({ ...left, open })).toMatchObject({ kind: 'wait', reason: 'call_under_way' })
    expect(step({ ...left, past: [past({ class: 'rejected' })] })).toMatchObject({ kind: 'end' })
  })
})
