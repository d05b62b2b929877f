import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { textOf, writtenFiles } from './support/sourceFiles.ts'

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..')

/** Every page a reader may open: in the root, in docs/, and beside the code. */
const pages = [
  '.',
  'clients',
  'docs',
  'examples',
  'src',
  'workflows',
  'bench',
  'test',
  'tools',
  'deploy',
].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: folder !== '.', encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name)),
)

function linksOf(page: string): readonly string[] {
  const text = readFileSync(join(root, page), 'utf8')
  const links = [...text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)].map(([, target = '']) => target)
  return links
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => relative(root, resolve(root, dirname(page), target)))
}

/** The headings of a page, as the parts of addresses that lead to them. */
function headingsOf(page: string): readonly string[] {
  const text = readFileSync(join(root, page), 'utf8')
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w\s-]/g, '')
      .replaceAll(' ', '-'),
  )
}

/** The links of a page to a heading that its target does not have. */
function missingHeadingsOf(page: string): readonly string[] {
  const text = readFileSync(join(root, page), 'utf8')
  return [...text.matchAll(/\]\(((?![a-z]+:)[^)#\s]*)#([^)]+)\)/g)]
    .filter(([, target = '', heading = '']) => {
      const file = target === '' ? page : relative(root, resolve(root, dirname(page), target))
      return !headingsOf(file).includes(heading)
    })
    .map(([link]) => link)
}

/** Paths of this repository in code font, such as `src/http/errors.ts`. */
function pathsOf(page: string): readonly string[] {
  const text = readFileSync(join(root, page), 'utf8')
  const named = [
    ...text.matchAll(/`((?:src|workflows|activities|test|bench|docs|tools|deploy)\/[^`\s*{]*)`/g),
  ]
  return named.map(([, path = '']) => path).filter((path) => !placeholder.test(path))
}

/** NAME and the like stand for any file, or for a file that the reader will make. */
const placeholder = /\/[A-Z]{4,}\b/

/** A comment of TypeScript or SQL. */
const comment = /\/\*[^]*?\*\/|\/\/[^\n]*|^\s*--[^\n]*/gm

/** A file that a comment names by its path or by the end of its path, such as `connection/pool.ts`. */
const namedFile = /(?<![\w./-])\w[\w./-]*\.(?:ts|sql|md)\b/g

/** The files that the comments of one file name and that do not exist. */
function missingFilesOf(file: string): readonly string[] {
  const comments = textOf(file).match(comment) ?? []
  return comments
    .flatMap((text) => text.match(namedFile) ?? [])
    .filter((name) => !placeholder.test(name))
    .filter((name) => !writtenFiles.some((path) => `/${path}`.endsWith(`/${name}`)))
    .map((name) => `${file}: ${name}`)
}

describe('the documentation', () => {
  it.each(pages)('names only files that exist: %s', (page) => {
    const missing = [...linksOf(page), ...pathsOf(page)].filter(
      (path) => !existsSync(join(root, path)),
    )
    expect(missing).toEqual([])
  })

  it.each(pages)('links only to headings that exist: %s', (page) => {
    expect(missingHeadingsOf(page)).toEqual([])
  })

  it('names only files that exist in the comments of TypeScript and SQL', () => {
    const files = writtenFiles.filter((file) => /\.(?:ts|sql)$/.test(file))
    expect(files.flatMap(missingFilesOf)).toEqual([])
  })
})
