import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
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

function isThere(folder: URL, { file, title, cases }: Proof): boolean {
  const path = new URL(file, folder)
  if (!existsSync(path)) return false
  const source = readFileSync(path, 'utf8')
  return (
    containsString(source, title, beforeTitle) &&
    cases.every((one) => containsString(source, one, /\[\s*$/))
  )
}

const isHead = (cells: string) => /^\| (?:statement |-)/.test(cells)

/**
 * Reads the tables in the README of a folder of tests. Each row names a statement and the tests that prove it.
 * `unproven` are the references to a test that does not exist, `unnamed` the test files of the folder that no
 * row names.
 */
export function readProofTables(folder: URL): {
  readonly rows: readonly string[]
  readonly unproven: readonly Proof[]
  readonly unnamed: readonly string[]
} {
  const readme = readFileSync(new URL('README.md', folder), 'utf8')
  const rows = readme.split('\n').filter((line) => line.startsWith('|') && !isHead(line))
  const files = readdirSync(fileURLToPath(folder)).filter((name) => name.endsWith('.test.ts'))
  return {
    rows,
    unproven: rows.flatMap(proofsOf).filter((proof) => !isThere(folder, proof)),
    unnamed: files.filter((name) => !readme.includes(`](${name})`)),
  }
}
