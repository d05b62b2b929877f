import { expect, it } from 'vitest'
import { createVendorCodes } from '../../src/tasks/produce/vendorCodes.ts'

function world() {
  let nowMs = 0
  const logged: unknown[] = []
  const counted: string[] = []
  const codes = createVendorCodes({
    log: { warn: (_event, fields) => logged.push(fields) },
    metrics: { unknownWord: (channel) => counted.push(channel) },
    nowMs: () => nowMs,
  })
  const pass = (ms: number) => {
    nowMs += ms
  }
  return { ...codes, logged, counted, pass }
}

it('an unknown word of a vendor is counted each time, and logged once per channel and hour', () => {
  const { note, logged, counted, pass } = world()
  for (const channel of ['one', 'one', 'two']) expect(note(channel, 'odd_word')).toBe('odd_word')
  expect(counted).toEqual(['one', 'one', 'two'])
  expect(logged).toEqual([
    { channel: 'one', vendorCode: 'odd_word' },
    { channel: 'two', vendorCode: 'odd_word' },
  ])
  pass(3_600_000)
  note('one', 'odd_word')
  expect(logged).toHaveLength(3)
})

it('a known word is neither counted nor logged', () => {
  const { note, logged, counted } = world()
  for (const code of ['MODEL_ARMOR', 'invalid_value', 'USER_PROJECT_DENIED']) note('one', code)
  expect([logged, counted]).toEqual([[], []])
})

it('a relay that sends a new code with every answer has fifty in an hour, and further ones are `other`', () => {
  const { note, logged, counted, pass } = world()
  const kept = Array.from({ length: 200 }, (_, n) => note('relay', `code-${n}`))
  expect(new Set(kept).size).toBe(51)
  expect(kept.at(-1)).toBe('other')
  expect(counted).toHaveLength(200)
  expect(logged).toHaveLength(51)
  pass(3_600_000)
  expect(note('relay', 'code-199')).toBe('code-199')
})
