// Installs the dependencies from the lock file when they are missing or stale. No dependencies. Runs on
// Node 20 and later.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { waitForLock } from './fileLock.mjs'
import { node24 } from './runUnderNode24.mjs'

/** A first install on a slow network takes minutes. Another process waits for it this long. */
const lockTimeoutMs = 30 * 60_000
const progressIntervalMs = 10_000
/** How much of npm's output is kept, and how much is printed when npm fails. */
const outputCharsMax = 64_000
const outputLinesMax = 40

/** See install.d.mts. */
export async function ensureInstalled(root, options = {}) {
  const say = options.say ?? ((line) => process.stderr.write(`${line}\n`))
  const isDone = () =>
    options.onlyIfMissing ? isComplete(root) : isMarkedFresh(root) || adoptFresh(root)
  if (isDone()) return
  const lock = await waitForLock(join(root, '.cache/install.lock'), {
    timeoutMs: lockTimeoutMs,
    onWait: (pid) => say(`Waiting for process ${pid}, which is installing the dependencies…`),
  })
  try {
    // The process that held the lock may have installed everything.
    if (isDone()) return
    await runNpmCi(root, say)
    if (!isComplete(root)) {
      throw new Error(
        `npm ci succeeded, but Node 24 (${node24(root)}) is missing. npm has it for Linux on x64 and arm64, ` +
          'unless it leaves out optional packages (npm config get omit). Otherwise install Node 24 yourself.',
      )
    }
    writeMarker(root)
  } finally {
    lock.release()
  }
}

/** See install.d.mts. */
export function isMarkedFresh(root) {
  try {
    return readFileSync(markerPath(root), 'utf8').trim() === fingerprint(root) && isComplete(root)
  } catch {
    return false
  }
}

/** See install.d.mts. */
export function adoptFresh(root) {
  if (!isComplete(root) || !installedMatchesLock(root)) return false
  writeMarker(root)
  return true
}

// The marker of one lock file must not be valid for another one, or on another platform.
function fingerprint(root) {
  return createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .update('\0')
    .update(readFileSync(join(root, 'package.json')))
    .update(`\0${process.platform}-${process.arch}`)
    .digest('hex')
}

function markerPath(root) {
  return join(root, 'node_modules/.darkroom-installed')
}

function writeMarker(root) {
  writeFileSync(markerPath(root), `${fingerprint(root)}\n`)
}

// npm writes its hidden lock file last. Without it an install was interrupted.
function isInstalled(root) {
  return existsSync(join(root, 'node_modules/.package-lock.json'))
}

// npm's Node 24 may be missing where this Node is one, as in the production image.
function isComplete(root) {
  return isInstalled(root) && existsSync(node24(root))
}

function installedMatchesLock(root) {
  const wanted = packagesOf(join(root, 'package-lock.json'))
  const installed = packagesOf(join(root, 'node_modules/.package-lock.json'))
  if (wanted === undefined || installed === undefined) return false
  const differs = Object.entries(wanted).some(([path, entry]) => {
    if (path === '') return false
    const found = installed[path]
    // npm does not install the binaries for other platforms, which the lock file lists as optional.
    return found === undefined ? entry.optional !== true : found.version !== entry.version
  })
  return !differs && Object.keys(installed).every((path) => path in wanted)
}

function packagesOf(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8')).packages
  } catch {
    return undefined
  }
}

async function runNpmCi(root, say) {
  say('Installing the dependencies from package-lock.json (a minute or so)…')
  const startedAtMs = Date.now()
  const seconds = () => Math.round((Date.now() - startedAtMs) / 1000)
  const progress = setInterval(() => say(`  still installing, ${seconds()} s`), progressIntervalMs)
  // `npm start` and `npm test` need the development dependencies, also where NODE_ENV=production is set.
  const args = ['ci', '--include=dev', '--loglevel=error', '--no-audit', '--no-fund']
  const npm = spawn('npm', args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    shell: process.platform === 'win32',
  })
  let output = ''
  const keep = (chunk) => {
    output = (output + chunk).slice(-outputCharsMax)
  }
  npm.stdout.on('data', keep)
  npm.stderr.on('data', keep)
  try {
    const code = await new Promise((resolve, reject) => {
      npm.on('error', reject)
      npm.on('close', resolve)
    })
    if (code !== 0) {
      const tail = output.trim().split('\n').slice(-outputLinesMax).join('\n')
      throw new Error(`npm ci failed (exit ${code}):\n${tail}`)
    }
  } finally {
    clearInterval(progress)
  }
  say(`Dependencies installed in ${seconds()} s.`)
}
