import { describe, expect, it } from 'vitest'
import { verdictOf } from '../../../src/domain/webhooks/retries.ts'

describe('a webhook delivery', () => {
  it.each([
    [199, 'retry'],
    [200, 'delivered'],
    [299, 'delivered'],
    [301, 'retry'],
    [308, 'retry'],
    [399, 'retry'],
    [404, 'retry'],
    [410, 'gone'],
  ])('whose receiver answers %i leads to: %s [hook-13]', (httpStatus, kind) => {
    expect(verdictOf({ httpStatus }, 0, 0)).toMatchObject({ kind })
  })
})
