import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of the repository. */
export const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..')

/** Installed, generated or recorded files, and hidden folders such as `.data`. */
const notOurs = /^(\.|node_modules$|dist$|histories$|package-lock\.json$|go\.sum$)/
const isText = /(\.(ts|mts|mjs|js|css|html|md|yml|yaml|json|sql|py|mod)|\/?Dockerfile)$/

/** The code of the service itself, as paths from the root: TypeScript, and JavaScript for the browser. */
export const sourceFiles: readonly string[] = ['src', 'workflows', 'activities'].flatMap((folder) =>
  filesIn(folder).filter((file) => /\.(ts|js)$/.test(file)),
)

/** All files that people write, as paths from the root: code, tests, tools, configuration, documentation. */
export const writtenFiles: readonly string[] = filesIn('').filter((file) => isText.test(file))

function filesIn(folder: string): readonly string[] {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .filter(({ name }) => !notOurs.test(name))
    .flatMap((entry) => {
      const path = join(folder, entry.name)
      return entry.isDirectory() ? filesIn(path) : [path]
    })
}

/** The text of a file by its path from the root. */
export function textOf(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}
