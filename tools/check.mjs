// `npm test`: types, lint, format and tests, under Node 24 (see node24.mjs). Every step runs, also
// after an earlier one has failed, so that one run reports everything. Arguments go to vitest.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
/** How long a step may take to end after Ctrl-C. */
const stopGraceMs = 15_000

const steps = [
  { name: 'types', command: [bin('tsc'), '-p', '.'] },
  { name: 'page', command: [bin('tsc'), '-p', 'src/web'] },
  { name: 'lint', command: [bin('oxlint'), '--type-aware', '--deny-warnings'] },
  { name: 'format', command: [bin('oxfmt'), '--check', '.'] },
  { name: 'tests', command: [bin('vitest'), 'run', ...process.argv.slice(2)] },
]

// The scripts in node_modules/.bin start with `#!/usr/bin/env node`, and must run under this Node.
const env = { ...process.env, PATH: `${join(process.execPath, '..')}:${process.env.PATH ?? ''}` }

let running
let stoppedBy = ''

process.on('SIGINT', stop)
process.on('SIGTERM', stop)

const results = []
for (const step of steps) {
  if (stoppedBy === '') results.push(await runStep(step))
}

process.stdout.write('\n')
for (const { name, failure, seconds } of results) {
  const verdict = failure === undefined ? 'ok' : `FAILED (${failure})`
  process.stdout.write(`${name.padEnd(8)} ${seconds.toFixed(1).padStart(6)} s  ${verdict}\n`)
}
const failed = results.filter((result) => result.failure !== undefined)
if (stoppedBy !== '') process.stdout.write(`Stopped by ${stoppedBy}.\n`)
else if (failed.length > 0)
  process.stdout.write(`Failed: ${failed.map((f) => f.name).join(', ')}\n`)
process.exitCode = stoppedBy === '' && failed.length === 0 ? 0 : 1

function runStep({ name, command }) {
  const [file, ...args] = command
  process.stdout.write(`\n── ${name}: ${file.slice(root.length)} ${args.join(' ')}\n`)
  const startedAtMs = Date.now()
  return new Promise((resolve) => {
    const end = (failure) => resolve({ name, failure, seconds: (Date.now() - startedAtMs) / 1000 })
    running = spawn(file, args, { cwd: root, stdio: 'inherit', env })
    running.on('error', (error) => end(error.message))
    running.on('exit', (code, signal) => end(code === 0 ? undefined : `exit ${signal ?? code}`))
  })
}

function stop(signal) {
  stoppedBy = signal
  running?.kill(signal)
  setTimeout(() => process.exit(1), stopGraceMs).unref()
}

function bin(name) {
  return join(root, 'node_modules/.bin', name)
}
