import { describe, expect, it } from 'vitest'
import { jsonPieces } from '../../src/domain/jsonPieces.ts'

const long = ['', 'x'].flatMap((shift) =>
  ['a', '\u0001', '"\\\n', 'ä', '🗼'].map((each) => shift + each.repeat(50_000)),
)
const value = { b: long, a: [null, true, 1.5, { z: '', y: 'ü' }], empty: {}, none: [] }

describe('the pieces of a JSON text', () => {
  it('are together what JSON.stringify makes, however long texts are cut', () => {
    expect([...jsonPieces(value, 'as given')].join('') === JSON.stringify(value)).toBe(true)
  })

  it('have sorted keys on request', () => {
    const pieces = jsonPieces({ b: 1, a: { d: 2, c: [3] } }, 'sorted')
    expect([...pieces].join('')).toBe('{"a":{"c":[3],"d":2},"b":1}')
  })
})
