import { check, date, property } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { httpDateMs } from '../../src/upstream/retryAfter.ts'

const nowMs = Date.UTC(2026, 10, 22)
const bornMs = Date.UTC(1994, 10, 6, 8, 49, 37)

describe('a date of HTTP', () => {
  it.each([
    'Sun, 06 Nov 1994 08:49:37 GMT',
    'Sun, 6 Nov 1994 08:49:37 GMT',
    'Sunday, 06-Nov-94 08:49:37 GMT',
    'Sun Nov  6 08:49:37 1994',
    'Sun Nov 6 08:49:37 1994',
  ])('is understood as %j', (text) => {
    expect(httpDateMs(text, nowMs)).toBe(bornMs)
  })

  it.each([
    ['26', 2026, 2026],
    ['76', 2026, 2076],
    ['77', 2026, 1977],
    ['00', 2026, 2000],
    ['03', 2070, 2103],
    ['99', 2101, 2099],
  ])('of the year %s in %d is one of %d', (digits, year, meant) => {
    const ms = httpDateMs(`Friday, 01-Jan-${digits} 00:00:00 GMT`, Date.UTC(year, 5))
    expect(ms).toBe(Date.UTC(meant, 0))
  })

  it.each([
    '',
    'soon',
    '2026-11-22T08:00:30Z',
    'Sun, 22 Nov 2026 08:00:30',
    'Sun, 22 Nov 2026 08:00:30 PST',
    'Sun Nov 22 08:00:30 2026 GMT',
    'Sun Nov 22 08:00:30 26',
    'Sun, 22 Foo 2026 08:00:30 GMT',
    'Sun, 22 Nov 2026 28:00:30 GMT',
    'Sun, 22 Nov 2026 ::::::00 GMT',
  ])('is not what %j is', (text) => {
    expect(httpDateMs(text, nowMs)).toBeUndefined()
  })

  it('is read back as it is written today, whatever the day', () => {
    const days = date({ min: new Date(0), max: new Date('9999-12-31'), noInvalidDate: true })
    const readBack = property(days, (day) => {
      const wholeSecond = Math.floor(day.getTime() / 1000) * 1000
      return httpDateMs(day.toUTCString(), nowMs) === wholeSecond
    })
    expect(check(readBack).failed).toBe(false)
  })
})
