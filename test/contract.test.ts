import { describe, expect, it } from 'vitest'
import { textOf, writtenFiles } from './support/sourceFiles.ts'

/** A line of contract.md: an id, then the sentence. */
const sentenceLine = /^- ([a-z]+-\d+) \S/

/** Ids in brackets at the end of a title, or of the name of a case that `%s` puts into a title. */
const idsAtEnd = / \[([a-z]+-\d+[^\]]*)\]['"`]/g

const comment = /^\s*(?:\/\/|\/?\*).*$/gm

const lines = textOf('test/contract.md')
  .split('\n')
  .filter((line) => line.startsWith('- '))
const sentences = lines.map((line) => sentenceLine.exec(line)?.[1] ?? '')

/** The ids in the titles of all tests, each with its file. */
const proofs = writtenFiles
  .filter((file) => /^test\/.*\.test\.ts$/.test(file))
  .flatMap((file) => {
    const text = textOf(file).replaceAll(comment, '')
    const ids = [...text.matchAll(idsAtEnd)].flatMap(([, found = '']) => found.split(', '))
    return ids.map((id) => ({ file, id }))
  })

describe('the sentences of the contract', () => {
  it('have an id each', () => {
    expect(sentences.length).toBeGreaterThan(150)
    expect(lines.filter((line) => !sentenceLine.test(line))).toEqual([])
  })

  it('have ids that differ', () => {
    expect(sentences.filter((id, at) => sentences.indexOf(id) !== at)).toEqual([])
  })

  it('are proven by a test each', () => {
    const proven = new Set(proofs.map(({ id }) => id))
    expect(lines.filter((_line, at) => !proven.has(sentences[at] ?? ''))).toEqual([])
  })

  it('exist for each id in a title', () => {
    const known = new Set(sentences)
    expect(proofs.filter(({ id }) => !known.has(id))).toEqual([])
  })
})
