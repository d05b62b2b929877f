// node tools/node24.mjs
//
// Prints the path of the Node that runs this project, after it has installed the dependencies from the lock
// file when they are missing or stale. Progress goes to standard error. Needs only Node 20 or later, and npm.
import { spawn, spawnSync } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const lockFile = join(root, 'package-lock.json')
// npm writes this file last. Without it an install was interrupted.
const installedFile = join(root, 'node_modules/.package-lock.json')
const nodeFromNpm = `node_modules/node-${process.platform}-${process.arch}/bin/node`

/** Whether the Node that runs this process can run the project's TypeScript. */
export const hostIsNode24 = Number(process.versions.node.split('.')[0]) >= 24
/**
 * The path of the Node that runs the project: this one, or the one from npm. Its package has no install
 * script, so that npm checks all of it against the hash in package-lock.json.
 */
export const node24 = hostIsNode24 ? process.execPath : join(root, nodeFromNpm)

/** A first install on a slow network takes minutes. Another process waits for it this long. */
const lockTimeoutMs = 30 * 60_000
const progressIntervalMs = 10_000
const outputLinesMax = 40

if (
  process.argv[1] !== undefined &&
  realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)
) {
  try {
    await install(isFresh)
    process.stdout.write(`${node24}\n`)
  } catch (error) {
    say(error.message)
    process.exitCode = 1
  }
}

/**
 * Installs the dependencies unless `isDone` says that it is not needed: `isFresh` or `isComplete`. When two
 * processes do this at once, the second one waits for the first. Throws an error for people.
 * @param {() => boolean} isDone
 */
export async function install(isDone) {
  if (isDone()) return
  const lock = lockedFile()
  try {
    // The process that held the lock may have installed everything.
    if (isDone()) return
    await runNpmCi()
  } finally {
    closeSync(lock)
  }
  if (isComplete()) return
  throw new Error(
    `npm ci succeeded, but Node 24 (${node24}) is missing. npm has it for Linux on x64 and arm64, unless it ` +
      'leaves out optional packages (npm config get omit). Otherwise install Node 24 yourself.',
  )
}

/** Whether something is installed that can run, perhaps from an older lock file. */
export function isComplete() {
  return existsSync(installedFile) && existsSync(node24)
}

/** Whether the lock file, and nothing else, is installed. */
function isFresh() {
  if (!isComplete()) return false
  const { packages: wanted } = JSON.parse(readFileSync(lockFile, 'utf8'))
  const { packages: installed } = JSON.parse(readFileSync(installedFile, 'utf8'))
  const differs = Object.entries(wanted).some(([path, { version, optional }]) => {
    if (path === '') return false
    // npm does not install the binaries for other platforms, which the lock file lists as optional.
    return path in installed ? installed[path].version !== version : optional !== true
  })
  return !differs && Object.keys(installed).every((path) => path in wanted)
}

// `flock` locks the open file, which it shares with this process. The lock is freed when this process closes
// the file or ends. Where there is no `flock`, nothing is locked.
function lockedFile() {
  const fd = openSync(lockFile, 'r')
  const flock = (...args) =>
    spawnSync('flock', [...args, '3'], {
      stdio: ['ignore', 'ignore', 'ignore', fd],
      timeout: lockTimeoutMs,
    })
  if (flock('-n').status === 1) {
    say('Waiting for another process, which is installing the dependencies…')
    if (flock().status !== 0) throw new Error('Another process is installing for too long.')
  }
  return fd
}

async function runNpmCi() {
  say('Installing the dependencies from package-lock.json (a minute or so)…')
  const startedAtMs = Date.now()
  const seconds = () => Math.round((Date.now() - startedAtMs) / 1000)
  const progress = setInterval(() => say(`  still installing, ${seconds()} s`), progressIntervalMs)
  // `npm start` and `npm test` need the development dependencies, also where NODE_ENV=production is set.
  const args = ['ci', '--include=dev', '--loglevel=error', '--no-audit', '--no-fund']
  const npm = spawn('npm', args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [npm.stdout, npm.stderr]) stream.on('data', (chunk) => (output += chunk))
  const code = await new Promise((resolve, reject) => {
    npm.on('error', reject)
    npm.on('close', resolve)
  }).finally(() => clearInterval(progress))
  if (code !== 0) {
    const tail = output.trim().split('\n').slice(-outputLinesMax).join('\n')
    throw new Error(`npm ci failed (exit ${code}):\n${tail}`)
  }
  say(`Dependencies installed in ${seconds()} s.`)
}

function say(line) {
  process.stderr.write(`${line}\n`)
}
