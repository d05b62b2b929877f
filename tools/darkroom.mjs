#!/usr/bin/env node
// `npx darkroom`: runs src/cli.ts under Node 24.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { ensureInstalled } from './install.mjs'
import { hostIsNode24, node24 } from './runUnderNode24.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const cli = join(root, 'src/cli.ts')

try {
  // A stale installation is kept, because a running service may be using it.
  await ensureInstalled(root, { onlyIfMissing: true })
} catch (error) {
  process.stderr.write(`${error.message}\n`)
  process.exit(1)
}

if (hostIsNode24()) {
  process.argv[1] = cli
  await import(pathToFileURL(cli).href)
} else {
  const child = spawn(node24(root), [cli, ...process.argv.slice(2)], { stdio: 'inherit' })
  // The terminal's Ctrl-C reaches the child too. This process waits for its exit code.
  process.on('SIGINT', () => {})
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  process.on('SIGHUP', () => child.kill('SIGHUP'))
  child.on('error', (error) => {
    process.stderr.write(`Cannot run ${node24(root)}: ${error.message}\n`)
    process.exit(1)
  })
  child.on('exit', (code, signal) => {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.removeAllListeners(name)
    if (signal === null) process.exit(code ?? 1)
    process.kill(process.pid, signal)
  })
}
