import { describe, expect, it } from 'vitest'
import { readProofTables } from '../support/proofTable.ts'

const { unproven, unnamed } = readProofTables(new URL('./', import.meta.url))

describe('the README of the extension tests', () => {
  it('names only tests that exist', () => {
    expect(unproven).toEqual([])
  })

  it('names every test file of this folder', () => {
    expect(unnamed).toEqual([])
  })
})
