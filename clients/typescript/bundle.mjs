// Bundles the command `darkroom-client` with all that it needs into dist/cli.js, and the licences of what is in it
// into dist/cli.licenses.txt.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const here = (path) => fileURLToPath(new URL(path, import.meta.url))

const bundle = await rolldown({ input: here('src/mcp/main.ts'), platform: 'node' })
const { output } = await bundle.write({
  file: here('dist/cli.js'),
  format: 'esm',
  codeSplitting: false,
})
await bundle.close()

const modules = output.flatMap((each) => Object.keys(each.modules ?? {}))
const packages = new Set(
  modules.flatMap((path) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []),
)
const licenses = [...packages].toSorted().map((folder) => {
  const { name, version } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'))
  const file = ['LICENSE', 'LICENSE.md'].map((each) => `${folder}/${each}`).find(existsSync)
  if (file === undefined) throw new Error(`${name} has no licence`)
  return `${name} ${version}\n\n${readFileSync(file, 'utf8')}`
})
writeFileSync(here('dist/cli.licenses.txt'), licenses.join(`\n${'-'.repeat(80)}\n\n`))
