// node tools/bootstrap.mjs SCRIPT [args…]
//
// Runs SCRIPT on a fresh clone that has only Node 20 or later and npm: installs the dependencies when they are
// missing or stale, then runs SCRIPT under Node 24.
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ensureInstalled } from './install.mjs'
import { runUnderNode24 } from './runUnderNode24.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const [script, ...args] = process.argv.slice(2)

if (script === undefined) {
  process.stderr.write('usage: node tools/bootstrap.mjs SCRIPT [args…]\n')
  process.exit(2)
}

try {
  await ensureInstalled(root)
} catch (error) {
  process.stderr.write(`${error.message}\n`)
  process.exit(1)
}
runUnderNode24(root, resolve(root, script), args)
