import { InvalidArgumentError } from 'commander'
import { describe, expect, it } from 'vitest'
import { parseBudget, parseBudgetOrNone } from '../../src/cli/parse.ts'

describe('a budget on the command line', () => {
  it('is credits per period, or none', () => {
    expect(parseBudget('5000/day')).toEqual({ credits: 5000, period: 'day' })
    expect(parseBudgetOrNone('1/week')).toEqual({ credits: 1, period: 'week' })
    expect(parseBudgetOrNone('none')).toBeUndefined()
  })

  it.each([
    '',
    'none',
    '5000',
    '0/day',
    '-5/day',
    '5.5/day',
    '5/Day',
    '5/year',
    '/day',
    '5000/day ',
    '9e9/day',
    '1000000000001/day',
    '5/constructor',
  ])('is refused: "%s"', (text) => {
    expect(() => parseBudget(text)).toThrow(InvalidArgumentError)
  })
})
