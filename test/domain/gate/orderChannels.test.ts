import { describe, expect, it } from 'vitest'
import { defined } from '../../../src/domain/defined.ts'
import { orderChannels } from '../../../src/domain/gate/orderChannels.ts'
import { nextStep } from '../../../src/domain/gate/nextStep.ts'
import { newTaskId } from '../../../src/domain/ids.ts'
import { testChannel } from '../../support/database/testAttempts.ts'
import { createSeeded } from '../../support/seeded.ts'

const draws = 10_000

const seeded = createSeeded(2026)
const randomBytes = (bytes: number) =>
  Buffer.from(Array.from({ length: bytes }, () => seeded.between(0, 255)))
const taskIds = Array.from({ length: draws }, () => newTaskId(randomBytes))

const channelsOf = (weights: Readonly<Record<string, number | undefined>>) =>
  Object.entries(weights).map(([name, weight]) => testChannel({ name, ...defined({ weight }) }))

/** The share of the tasks that each channel gets from the gate when the named channels are not open. */
function sharesOf(
  weights: Readonly<Record<string, number>>,
  closed: Readonly<Record<string, 'paused' | 'full' | 'cooling'>> = {},
) {
  const nowMs = 1_000_000
  const cooldown = {
    untilMs: nowMs + 60_000,
    granted: 0,
    learned: 1,
    refusals: 1,
    slotAtMs: nowMs + 60_000,
    slotMs: 10,
  }
  const counts = new Map<string, number>()
  for (const taskId of taskIds) {
    const channels = orderChannels(channelsOf(weights), taskId).map((channel) => ({
      channel,
      paused: closed[channel.name] === 'paused',
      inFlight: closed[channel.name] === 'full' ? channel.concurrencyMax : 0,
      inFlightOfModel: 0,
      open: { asking: 0, taken: 0 },
      ahead: 0,
      ...(closed[channel.name] === 'cooling' ? { cooldown } : {}),
    }))
    const facts = { nowMs, ageMs: 0, deadlineAtMs: nowMs + 600_000, sync: false, past: [] }
    const step = nextStep({ ...facts, channels, callsMax: 3, jitter: 0 })
    const name = step.kind === 'call' ? step.channel.name : step.kind
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return Object.fromEntries([...counts].map(([name, count]) => [name, count / draws]))
}

describe('the order of channels', () => {
  it('is that of the file when no channel has a weight', () => {
    const channels = channelsOf({ c: undefined, a: undefined, b: undefined })
    for (const taskId of taskIds.slice(0, 100)) {
      expect(orderChannels(channels, taskId)).toEqual(channels)
    }
  })

  it('is the same for a task each time, in whatever order the file names the channels', () => {
    const channels = channelsOf({ a: 1, b: 2, c: 3 })
    for (const taskId of taskIds.slice(0, 100)) {
      expect(orderChannels(channels.toReversed(), taskId)).toEqual(orderChannels(channels, taskId))
    }
  })
})

describe('the shares of 10,000 calls', () => {
  it.each([
    [{ 'b-1': 3, 'b-2': 1 }, {}],
    [{ a: 70, b: 20, c: 10 }, {}],
    [{ a: 70, b: 20, c: 10 }, { b: 'cooling' }],
    [
      { a: 1, b: 2, c: 3, d: 4 },
      { d: 'full', a: 'paused' },
    ],
  ] as const)(
    'follow the weights %j within 2 %% among the open channels, with %j',
    (weights, closed) => {
      const open = Object.entries(weights).filter(([name]) => !(name in closed))
      const sum = open.reduce((total, [, weight]) => total + weight, 0)
      const shares = sharesOf(weights, closed)
      for (const [name, weight] of open) {
        expect(Math.abs((shares[name] ?? 0) - weight / sum)).toBeLessThan(0.02)
      }
      for (const name of Object.keys(closed)) expect(shares[name]).toBeUndefined()
    },
  )
})
