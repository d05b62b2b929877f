#!/usr/bin/env node
// `npx darkroom`: runs src/cli.ts under Node 24.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { hostIsNode24, install, isComplete, node24 } from './node24.mjs'

const cli = fileURLToPath(new URL('../src/cli.ts', import.meta.url))
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']

try {
  // A stale installation is kept, because a running service may be using it.
  await install(isComplete)
} catch (error) {
  process.stderr.write(`${error.message}\n`)
  process.exit(1)
}

if (hostIsNode24) {
  process.argv[1] = cli
  await import(cli)
} else {
  const child = spawn(node24, [cli, ...process.argv.slice(2)], { stdio: 'inherit' })
  // The terminal's Ctrl-C reaches the child too. This process waits for its exit code.
  for (const signal of signals) process.on(signal, () => signal !== 'SIGINT' && child.kill(signal))
  child.on('error', (error) => {
    process.stderr.write(`Cannot run ${node24}: ${error.message}\n`)
    process.exit(1)
  })
  child.on('exit', (code, signal) => {
    for (const name of signals) process.removeAllListeners(name)
    if (signal === null) process.exit(code ?? 1)
    process.kill(process.pid, signal)
  })
}
