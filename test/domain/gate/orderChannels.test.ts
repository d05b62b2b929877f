import { describe, expect, it } from 'vitest'
import { defined } from '../../../src/domain/defined.ts'
import { orderChannels } from '../../../src/domain/gate/orderChannels.ts'
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

describe('the shares of 10,000 tasks', () => {
  it.each([
    [{ 'b-1': 3, 'b-2': 1 }, []],
    [{ a: 70, b: 20, c: 10 }, ['b']],
    [{ a: 1, b: 2, c: 3, d: 4 }, ['d', 'a']],
  ] as const)('follow the weights %j within 0.02 when %j are not open', (weights, closed) => {
    const counts = new Map<string, number>()
    for (const taskId of taskIds) {
      const order = orderChannels(channelsOf(weights), taskId).map(({ name }) => name)
      const first = order.find((name) => !closed.some((each) => each === name)) ?? ''
      counts.set(first, (counts.get(first) ?? 0) + 1)
    }
    const open = Object.entries(weights).filter(([name]) => !closed.some((each) => each === name))
    const sum = open.reduce((total, [, weight]) => total + weight, 0)
    for (const [name, weight] of open) {
      expect(Math.abs((counts.get(name) ?? 0) / draws - weight / sum)).toBeLessThan(0.02)
    }
  })
})
