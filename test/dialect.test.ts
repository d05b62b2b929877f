import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root, sourceFiles, textOf, writtenFiles } from './support/sourceFiles.ts'

/** Files that may break a rule of this test, each with its reason. Keep this list empty. */
const exceptions: readonly string[] = []

const entriesMax = 20
/** Of `src`: its rooms, and an entry point for each process. */
const roomsMax = 22

/** This test contains the patterns that it looks for. */
const thisFile = 'test/dialect.test.ts'

/** `export const name = (…) =>`, with or without type annotation, type parameters and `async`. */
const exportedArrow =
  /^export const \w+[^\n]*?=\s*(?:async\s+)?(?:<[^\n]*>)?(?:\w+|\((?:[^()]|\([^()]*\))*\)(?:\s*:[^\n]+)?)\s*=>/gm

/** `...(x === undefined ? {} : { x })`, which `...defined({ x })` replaces. */
const optionalField = /\.\.\.\(\s*([\w.]+) === undefined\s*\?\s*\{\}\s*:\s*\{ (?:\w+: )?\1 \}\s*\)/g

/** References to documents that are not in this repository. */
const citation =
  /\b[Dd]esign,? (?:\d|section)|\b(?:wire|reliability|peers|style|temporal)\.md\b|\b[Ss]pec, [A-Z]/g

/** Words for which plain technical English has a common word. */
const rareWord = /\b(?:lest|whoever|whomever|zombies?|anew|thereof|hence|dear)\b/gi

function findIn(files: readonly string[], pattern: RegExp): readonly string[] {
  return files
    .filter((file) => file !== thisFile && !exceptions.includes(file))
    .flatMap((file) => {
      const text = textOf(file)
      return [...text.matchAll(pattern)].map(({ index, 0: found }) => {
        const line = text.slice(0, index).split('\n').length
        return `${file}:${line}: ${found.split('\n')[0]}`
      })
    })
}

/** The linter checks the other rules: see .oxlintrc.json. */
describe('the code', () => {
  it('exports functions by declaration, not as arrow functions', () => {
    expect(findIn(sourceFiles, exportedArrow)).toEqual([])
  })

  it('leaves out optional fields with `defined`', () => {
    expect(findIn(writtenFiles, optionalField)).toEqual([])
  })

  it('has no files for things without a name', () => {
    const nameless = /(^|\/)(utils?|helpers?|misc|common|index)\.ts$/
    expect(sourceFiles.filter((file) => nameless.test(file))).toEqual([])
  })

  it(`has at most ${entriesMax} entries in a folder`, () => {
    const folders = new Set(sourceFiles.map((file) => dirname(file)))
    const counts = [...folders].map((folder) => ({
      folder,
      entries: readdirSync(join(root, folder)).length,
    }))
    const tooMany = counts.filter(
      ({ folder, entries }) => entries > (folder === 'src' ? roomsMax : entriesMax),
    )
    expect(tooMany).toEqual([])
  })
})

describe('the texts', () => {
  it('cite no document that is not in the repository', () => {
    expect(findIn(writtenFiles, citation)).toEqual([])
  })

  it('use common words', () => {
    expect(findIn(writtenFiles, rareWord)).toEqual([])
  })
})
