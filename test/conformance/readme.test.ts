import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const folder = new URL('./', import.meta.url)
const readme = readFileSync(new URL('README.md', folder), 'utf8')

type Proof = { readonly file: string; readonly title: string; readonly cases: readonly string[] }

/** Parses the last cell of a row: one or several `[name](file) › title — case; case`. */
function proofsOf(row: string): readonly Proof[] {
  const [statement = '', proofs = ''] = row.split('|').slice(1, -1)
  return proofs
    .trim()
    .split('<br>')
    .map((text) => {
      const [, name = '', file = '', rest = ''] = /^\[(.+?)\]\((\S+?)\) › (.+)$/.exec(text) ?? []
      const [title = '', cases] = rest.replaceAll(/\\([^\w\s])/g, '$1').split(' — ')
      if (!file.endsWith(`${name}.test.ts`) || title === '') {
        throw new Error(`"${statement.trim()}" has a reference that cannot be parsed: ${text}`)
      }
      return { file, title, cases: cases?.split('; ') ?? [] }
    })
}

/** Reports whether the source contains the text as a whole string directly after a match of `before`. */
function containsString(source: string, text: string, before: RegExp): boolean {
  return [`'${text}',`, `"${text}",`, `\`${text}\`,`].some((literal) => {
    let at = source.indexOf(literal)
    while (at !== -1 && !before.test(source.slice(Math.max(0, at - 200), at))) {
      at = source.indexOf(literal, at + 1)
    }
    return at !== -1
  })
}

/** Matches the end of `it(`, `describe(` and of the call of an `.each`. */
const beforeTitle = /(?:\bit|\bdescribe|\))\(\s*$/

function isThere({ file, title, cases }: Proof): boolean {
  const path = new URL(file, folder)
  if (!existsSync(path)) return false
  const source = readFileSync(path, 'utf8')
  return (
    containsString(source, title, beforeTitle) &&
    cases.every((one) => containsString(source, one, /\[\s*$/))
  )
}

const isHead = (cells: string) => /^\| (?:statement |-)/.test(cells)
const rows = readme.split('\n').filter((line) => line.startsWith('|') && !isHead(line))

describe('the README of the conformance tests', () => {
  it('names an existing test for every statement', () => {
    expect(rows.length).toBeGreaterThan(100)
    expect(rows.flatMap(proofsOf).filter((proof) => !isThere(proof))).toEqual([])
  })

  it('names every test file of this folder', () => {
    const files = readdirSync(fileURLToPath(folder)).filter((name) => name.endsWith('.test.ts'))
    expect(files.filter((name) => !readme.includes(`](${name})`))).toEqual([])
  })
})
