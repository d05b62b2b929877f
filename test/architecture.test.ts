import { existsSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root, sourceFiles, textOf } from './support/sourceFiles.ts'

/** The files on the way of one task, as docs/architecture.md numbers them. */
const listed = [
  ...textOf('docs/architecture.md').matchAll(/^(\d+)\. \[[^\]]+\]\(\.\.\/([^)]+)\)/gm),
].map(([, number, path = '']) => ({ number: Number(number), path }))
const way = listed.map(({ path }) => path)

/** The files that a file imports, and of which it gives the path (Temporal's bundler reads the workflow by its path). */
function reachedFrom(file: string): readonly string[] {
  return [...textOf(file).matchAll(/['"](\.\.?\/[^'"]+)['"]/g)].map(([, target = '']) =>
    relative(root, resolve(root, dirname(file), target)),
  )
}

/** Wiring, the service of tasks, the start of Temporal's worker, the table of families, and what a store can do. */
const puttingTogether =
  /^src\/(?:wiring\/|tasks\/taskService\.ts|upstream\/familyAdapters\.ts|temporal\/worker\/|(?:store|blobs)\/.*Store\.ts$)/

/** The migration is read by its folder, and called by name. */
const calledByName = ['src/store/schema/migrations/000001.sql']

describe('the way of a task in docs/architecture.md', () => {
  it('has at most 40 files, which exist', () => {
    expect(listed.map(({ number }) => number)).toEqual(way.map((_, index) => index + 1))
    expect(way.length).toBeLessThanOrEqual(40)
    expect(new Set(way).size).toBe(way.length)
    expect(way.filter((path) => !existsSync(join(root, path)))).toEqual([])
  })

  it('leads from each file to the next ones: by an import, or by a file that puts parts together', () => {
    const wired = sourceFiles.filter((file) => puttingTogether.test(file)).flatMap(reachedFrom)
    const unreached = way.filter((path, index) => {
      const before = way.slice(0, index).flatMap(reachedFrom)
      return ![...before, ...wired, ...calledByName].includes(path)
    })
    expect(unreached).toEqual([])
  })
})
