import { expect, it } from 'vitest'
import { readTraceparent } from '../../../src/domain/tasks/traceparent.ts'

const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
const span = '00f067aa0ba902b7'

it('reads the traceparent of a client, sampled or not', () => {
  for (const flags of ['00', '01', 'ff']) {
    expect(readTraceparent(`00-${trace}-${span}-${flags}`)).toBe(`00-${trace}-${span}-${flags}`)
  }
})

it.each([
  ['an absent one', ''],
  ['one with more after the flags', `00-${trace}-${span}-01-more`],
  ['an unknown version', `01-${trace}-${span}-01`],
  ['a trace of zeros', `00-${'0'.repeat(32)}-${span}-01`],
  ['a span of zeros', `00-${trace}-${'0'.repeat(16)}-01`],
  ['a line break', `00-${trace}-${span}-01\n`],
])('ignores %s', (_what, header) => {
  expect(readTraceparent(header)).toBeUndefined()
})
