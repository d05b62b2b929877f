import { readFileSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
/** What the image runs. The worker loads the workflows by their path. */
const entries = ['src/api.ts', 'src/worker.ts', 'src/cli.ts', 'workflows/imageTask.ts']

/** The files that `file` imports, and the packages. Type imports do not count: Node removes them. */
function importsOf(file: string): { readonly files: string[]; readonly packages: string[] } {
  const text = readFileSync(resolve(root, file), 'utf8')
  const statement =
    /(?:^|\n)(?:import|export)\s+(?!type\s)(?:[^'"`;]*?\sfrom\s+)?'([^']+)'|\bimport\(\s*'([^']+)'/g
  const targets = [...text.matchAll(statement)].map((match) => match[1] ?? match[2] ?? '')
  return {
    files: targets
      .filter((target) => target.startsWith('.'))
      .map((target) => relative(root, resolve(root, dirname(file), target))),
    packages: targets
      .filter((target) => !target.startsWith('.') && !target.startsWith('node:'))
      .map((target) => /^(@[^/]+\/)?[^/]+/.exec(target)?.[0] ?? target),
  }
}

/** Everything that the entries of the image import, directly or not. */
function closure(): {
  readonly files: ReadonlySet<string>
  readonly packages: ReadonlySet<string>
} {
  const files = new Set<string>()
  const packages = new Set<string>()
  const queue = [...entries]
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    if (files.has(file)) continue
    files.add(file)
    const imports = importsOf(file)
    queue.push(...imports.files)
    for (const name of imports.packages) packages.add(name)
  }
  return { files, packages }
}

it('needs no file of src/dev, which the Docker image does not contain', () => {
  const { files } = closure()
  expect(files.size).toBeGreaterThan(100)
  expect([...files].filter((file) => /^(src\/dev|test|bench)\b/.test(file))).toEqual([])
  const ignored = readFileSync(resolve(root, '.dockerignore'), 'utf8').split('\n')
  expect(ignored).toContain('src/dev')
})

it('needs no development dependency, which the Docker image does not install', () => {
  const manifest: { readonly dependencies: Readonly<Record<string, string>> } = JSON.parse(
    readFileSync(resolve(root, 'package.json'), 'utf8'),
  )
  const { packages } = closure()
  expect([...packages].filter((name) => !(name in manifest.dependencies))).toEqual([])
})
