// `npm test`: types, lint, format and tests, under Node 24 (see node24.mjs). Every step runs, also
// after an earlier one has failed, so that one run reports everything. Arguments go to vitest.
//
// The tests wait for processes and timers much of the time. So the other steps run beside them, at a low priority,
// and what they print is shown at the end.
import { spawn } from 'node:child_process'
import { setPriority } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
/** How long the steps may take to end after Ctrl-C. */
const stopGraceMs = 15_000
const besidePriority = 10

const checks = [
  // The linter reports errors of types too, of the pages as well, from one reading of all files.
  { name: 'lint', command: [bin('oxlint'), '--type-aware', '--type-check', '--deny-warnings'] },
  { name: 'format', command: [bin('oxfmt'), '--check', '.'] },
]
const tests = { name: 'tests', command: [bin('vitest'), 'run', ...process.argv.slice(2)] }

// The scripts in node_modules/.bin start with `#!/usr/bin/env node`, and must run under this Node. The part of the linter
// that knows types is written in Go: with GOGC it takes more memory and less CPU.
const PATH = `${join(process.execPath, '..')}:${process.env.PATH ?? ''}`
const env = { GOGC: '400', ...process.env, PATH }

const running = new Set()
let stoppedBy = ''

process.on('SIGINT', stop)
process.on('SIGTERM', stop)

const [checked, tested] = await Promise.all([runChecks(), runStep(tests, 'inherit')])
const results = [...checked, tested]

for (const { command, output } of checked) {
  process.stdout.write(`\n── ${command}\n${output}`)
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

async function runChecks() {
  const ended = []
  for (const check of checks) if (stoppedBy === '') ended.push(await runStep(check, 'pipe'))
  return ended
}

function runStep({ name, command: [file, ...args] }, stdio) {
  const command = `${name}: ${file.slice(root.length)} ${args.join(' ')}`
  if (stdio === 'inherit') process.stdout.write(`── ${command}\n`)
  const startedAtMs = Date.now()
  return new Promise((resolve) => {
    let output = ''
    const child = spawn(file, args, { cwd: root, stdio: ['inherit', stdio, stdio], env })
    const end = (failure) => {
      running.delete(child)
      resolve({ name, command, output, failure, seconds: (Date.now() - startedAtMs) / 1000 })
    }
    running.add(child)
    if (stdio === 'pipe') {
      if (child.pid !== undefined) setPriority(child.pid, besidePriority)
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (text) => (output += text))
    }
    child.on('error', (error) => end(error.message))
    child.on('close', (code, signal) => end(code === 0 ? undefined : `exit ${signal ?? code}`))
  })
}

function stop(signal) {
  stoppedBy = signal
  for (const child of running) child.kill(signal)
  setTimeout(() => process.exit(1), stopGraceMs).unref()
}

function bin(name) {
  return join(root, 'node_modules/.bin', name)
}
