import { describe, expect, it } from 'vitest'
import { variableNames } from '../../src/config/environment.ts'
import { readStartConfig, startVariableNames } from '../../src/dev/variables.ts'
import { textOf } from '../support/sourceFiles.ts'

/** The variables of docs/configuration.md, with the defaults that it gives in brackets. */
const documented = [
  ...textOf('docs/configuration.md').matchAll(/`([A-Z][A-Z_]+)`(?: \(([^\s)]+)\))?/g),
].map(([, name = '', value]) => ({ name, value }))

describe('docs/configuration.md', () => {
  it('names every variable that the code reads, and no other', () => {
    const names = new Set(documented.map(({ name }) => name))
    expect([...names].toSorted()).toEqual([...variableNames, ...startVariableNames].toSorted())
  })

  it('gives the defaults of the code', () => {
    const given = documented.filter(({ value }) => value !== undefined)
    expect(given.length).toBeGreaterThan(20)
    const wrong = given.filter(({ name, value }) => {
      const same =
        JSON.stringify(readStartConfig({ [name]: value })) === JSON.stringify(readStartConfig({}))
      return !same
    })
    expect(wrong).toEqual([])
  })
})
