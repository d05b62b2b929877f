import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
type Proof = { readonly file: string; readonly title: string; readonly cases: readonly string[] }

/** Parses the last cell of a row: one or several `[name](file) › title — case; case`. */
function proofsOf(row: string): readonly Proof[] {
  const cells = row.split('|').slice(1, -1)
  const [statement = '', proofs = ''] = [cells[0], cells.at(-1)]
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

/** Returns whether the source contains the text as a complete string literal that directly follows `before`. */
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

const isHead = (cells: string) => /^\| (?:statement |threat |-)/.test(cells)

/**
 * Reads the tables of a page. Each row names a statement first, and last the tests that prove it. `unproven` are
 * the references to a test that does not exist.
 */
export function readProofPage(page: URL): {
  readonly text: string
  readonly rows: readonly string[]
  readonly unproven: readonly Proof[]
} {
  const text = readFileSync(page, 'utf8')
  const rows = text.split('\n').filter((line) => line.startsWith('|') && !isHead(line))
  const folder = new URL('./', page)
  return { text, rows, unproven: rows.flatMap(proofsOf).filter((proof) => !isThere(folder, proof)) }
}

/**
 * Reads the README in a folder of tests in the same way. `unnamed` are the test files of the folder that no row
 * names.
 */
export function readProofTables(folder: URL): ReturnType<typeof readProofPage> & {
  readonly unnamed: readonly string[]
} {
  const page = readProofPage(new URL('README.md', folder))
  const files = readdirSync(fileURLToPath(folder)).filter((name) => name.endsWith('.test.ts'))
  return { ...page, unnamed: files.filter((name) => !page.text.includes(`](${name})`)) }
}
