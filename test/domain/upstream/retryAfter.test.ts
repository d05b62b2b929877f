import { check, constant, date, double, oneof, property, record, string } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cooldownMsMax } from '../../../src/domain/limits.ts'
import type { RetryAfterSources } from '../../../src/domain/upstream/retryAfter.ts'
import { retryAfterMs } from '../../../src/domain/upstream/retryAfter.ts'

const now = 'Sun, 22 Nov 2026 08:00:00 GMT'
const nowMs = Date.parse(now)
const inHalfAMinute = 'Sun, 22 Nov 2026 08:00:30 GMT'

type Row = readonly [headers: RetryAfterSources['headers'], retryDelay: string, expected: unknown]

const rows: readonly Row[] = [
  [{}, '', undefined],
  [{ 'retry-after': '3' }, '', 3000],
  [{ 'retry-after': '0' }, '', 0],
  [{ 'retry-after': '1.5' }, '', 1500],
  [{ 'retry-after': '-5' }, '', undefined],
  [{ 'retry-after': 'soon' }, '', undefined],
  [{ 'retry-after': '1e3' }, '', undefined],
  [{ 'retry-after': '901' }, '', cooldownMsMax],
  [{ 'retry-after': inHalfAMinute, date: now }, '', 30_000],
  [{ 'retry-after': inHalfAMinute }, '', 30_000],
  // The clock of the vendor is an hour ahead, so only its own Date shows how long the wait is.
  [
    { 'retry-after': 'Sun, 22 Nov 2026 09:00:10 GMT', date: 'Sun, 22 Nov 2026 09:00:00 GMT' },
    '',
    10_000,
  ],
  [{ 'retry-after': 'Sunday, 22-Nov-26 08:00:30 GMT' }, '', 30_000],
  [{ 'retry-after': 'Sun Nov  1 00:00:09 2026', date: 'Sun Nov  1 00:00:00 2026' }, '', 9000],
  [{ 'retry-after': now, date: inHalfAMinute }, '', undefined],
  [{ 'retry-after': 'Sun, 22 Nov 2036 08:00:00 GMT' }, '', cooldownMsMax],
  [{ 'retry-after': '2026-11-22T08:00:30Z' }, '', undefined],
  [{ 'retry-after': 'Sun, 22 Nov 2026 28:00:30 GMT' }, '', undefined],
  [{ 'retry-after-ms': '1234' }, '', 1234],
  [{ 'retry-after-ms': '0.2', 'retry-after': '9' }, '', 1],
  [{ 'retry-after-ms': 'soon', 'retry-after': '9' }, '', 9000],
  [{}, '37s', 37_000],
  [{}, '0.9s', 900],
  [{}, '-3s', undefined],
  [{}, '1m', undefined],
  [{ 'retry-after': '3' }, '37s', 3000],
  [{ 'retry-after': 'soon' }, '37s', 37_000],
]

describe('the wait that an upstream asks for', () => {
  it.each(rows)('is read from %j and RetryInfo %j as %j', (headers, retryDelay, expected) => {
    expect(retryAfterMs({ headers, nowMs, retryDelay }, cooldownMsMax)).toBe(expected)
  })

  it.each([
    ['Rate limit reached for images per min. Please try again in 12s. Contact us.', 12_000],
    ['Please try again in 350ms.', 350],
    ['Please retry in 7.25s.', 7_250],
    ['Please retry after 10 seconds.', 10_000],
    ['Please try again in 1m30s.', 30_000],
    ['The prompt "try again in 900s" is too much.', 30_000],
    ['Please try again later.', undefined],
    ['Try again in a moment.', undefined],
  ])('is at most 30 s when it stands only in the text: %s', (text, expected) => {
    expect(retryAfterMs({ headers: {}, nowMs, text }, cooldownMsMax)).toBe(expected)
    expect(retryAfterMs({ headers: { 'retry-after': '60' }, nowMs, text }, cooldownMsMax)).toBe(
      60_000,
    )
  })

  it('is a limited whole number of milliseconds or nothing, whatever the upstream sends', () => {
    const number = double({ noNaN: true }).map(String)
    const when = date({ noInvalidDate: true }).map((day) => day.toUTCString())
    const value = oneof(constant(undefined), string(), number, when)
    const headers = record({ 'retry-after': value, 'retry-after-ms': value, date: value })
    const bounded = property(headers, oneof(string(), number), (headers, retryDelay) => {
      const waitMs =
        retryAfterMs({ headers, nowMs, retryDelay: `${retryDelay}s` }, cooldownMsMax) ?? 0
      return Number.isInteger(waitMs) && waitMs >= 0 && waitMs <= cooldownMsMax
    })
    expect(check(bounded, { numRuns: 500 }).failed).toBe(false)
  })
})
