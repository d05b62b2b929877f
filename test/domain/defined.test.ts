import { describe, expect, it } from 'vitest'
import { defined } from '../../src/domain/defined.ts'

describe('defined', () => {
  it('keeps falsy members and drops null and undefined', () => {
    const members: { a: number | null; b?: string | undefined; c: boolean; d: string } = {
      a: null,
      b: undefined,
      c: false,
      d: '',
    }
    expect(Object.entries(defined(members))).toEqual([
      ['c', false],
      ['d', ''],
    ])
  })
})
