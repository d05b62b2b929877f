import { describe, expect, it } from 'vitest'
import { readProofTables } from '../support/proofTable.ts'

const { rows, unproven, unnamed } = readProofTables(new URL('./', import.meta.url))

describe('the README of the conformance tests', () => {
  it('names an existing test for every statement', () => {
    expect(rows.length).toBeGreaterThan(100)
    expect(unproven).toEqual([])
  })

  it('names every test file of this folder', () => {
    expect(unnamed).toEqual([])
  })
})
