import { describe, expect, it } from 'vitest'
import { defined } from '../../../src/domain/defined.ts'
import { orderChannels } from '../../../src/domain/gate/orderChannels.ts'
import { testChannel } from '../../support/database/testAttempts.ts'
import { createSeeded } from '../../support/seeded.ts'

const draws = 10_000
const { next } = createSeeded(2026)

const channelsOf = (weights: Readonly<Record<string, number | undefined>>) =>
  Object.entries(weights).map(([name, weight]) => testChannel({ name, ...defined({ weight }) }))

it('the order of channels is that of the file when no channel has a weight', () => {
  const channels = channelsOf({ c: undefined, a: undefined, b: undefined })
  for (let draw = 0; draw < 100; draw += 1) expect(orderChannels(channels, next)).toEqual(channels)
})

describe('the shares of 10,000 tasks', () => {
  it.each([
    [{ 'b-1': 3, 'b-2': 1 }, []],
    [{ a: 70, b: 20, c: 10 }, ['b']],
    [{ a: 1, b: 2, c: 3, d: 4 }, ['d', 'a']],
  ] as const)('follow the weights %j within 0.02 when %j are not open', (weights, closed) => {
    const counts = new Map<string, number>()
    for (let draw = 0; draw < draws; draw += 1) {
      const order = orderChannels(channelsOf(weights), next).map(({ name }) => name)
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
