// Installs the dependencies from the lock file when they are missing or stale. No dependencies;
// runs on every Node from 20.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { waitForLock } from './fileLock.mjs'
import { node24 } from './runUnderNode24.mjs'

/** A first install over a slow line may take long; a waiter waits for it this long. */
const installTimeoutMs = 30 * 60_000
const progressEveryMs = 10_000
/** Lines of npm's output repeated when it fails. */
const outputLinesMax = 40

/**
 * Makes sure that what package-lock.json names is installed. Throws with npm's output when it fails.
 * @param {string} root folder of the checkout
 * @param {{ say?: (line: string) => void, onlyIfMissing?: boolean }} [options] onlyIfMissing leaves
 *   an outdated installation alone, for commands that run beside a running service
 * @returns {Promise<void>}
 */
export const ensureInstalled = async (root, options = {}) => {
  const say = options.say ?? ((line) => process.stderr.write(`${line}\n`))
  const settled = () =>
    options.onlyIfMissing ? isUsable(root) : isMarkedFresh(root) || adoptFresh(root)
  if (settled()) return
  const lock = await waitForLock(join(root, '.cache/install.lock'), {
    timeoutMs: installTimeoutMs,
    onWait: (pid) => say(`Waiting for process ${pid}, which is installing the dependencies…`),
  })
  try {
    // Whoever held the lock may have installed all there is.
    if (settled()) return
    await runNpmCi(root, say)
    if (!(options.onlyIfMissing ? isUsable(root) : isComplete(root))) {
      throw new Error(
        'npm ci ended well, but Node 24 (node_modules/node/bin/node) is missing. ' +
          'Are install scripts switched off (npm config get ignore-scripts)?',
      )
    }
    writeMarker(root)
  } finally {
    lock.release()
  }
}

/** What ensures that the marker of one lock file is not taken for another's. */
export const fingerprint = (root) =>
  createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .update('\0')
    .update(readFileSync(join(root, 'package.json')))
    .update(`\0${process.platform}-${process.arch}`)
    .digest('hex')

const markerPath = (root) => join(root, 'node_modules/.darkroom-installed')

const writeMarker = (root) => writeFileSync(markerPath(root), `${fingerprint(root)}\n`)

// npm writes its hidden lock file last: without it an install was interrupted.
const isInstalled = (root) => existsSync(join(root, 'node_modules/.package-lock.json'))

const isComplete = (root) =>
  isInstalled(root) && existsSync(join(root, 'node_modules/node/bin/node'))

// An image for production is installed without scripts, so without a Node of ours, and has its own.
const isUsable = (root) => isInstalled(root) && existsSync(node24(root))

/** Whether this very lock file and package.json were installed by us. */
export const isMarkedFresh = (root) => {
  try {
    return readFileSync(markerPath(root), 'utf8').trim() === fingerprint(root) && isComplete(root)
  } catch {
    return false
  }
}

/**
 * Accepts what a person installed with npm, or an edit of package.json that changes no dependency:
 * nothing is installed again while the installed versions are those of the lock file.
 */
export const adoptFresh = (root) => {
  if (!isComplete(root) || !installedMatchesLock(root)) return false
  writeMarker(root)
  return true
}

const installedMatchesLock = (root) => {
  const wanted = packagesOf(join(root, 'package-lock.json'))
  const installed = packagesOf(join(root, 'node_modules/.package-lock.json'))
  if (wanted === undefined || installed === undefined) return false
  const missing = Object.entries(wanted).some(([path, entry]) => {
    if (path === '') return false
    const found = installed[path]
    // Binaries for other platforms are in the lock file and, rightly, not installed.
    return found === undefined ? entry.optional !== true : found.version !== entry.version
  })
  return !missing && Object.keys(installed).every((path) => path in wanted)
}

const packagesOf = (path) => {
  try {
    return JSON.parse(readFileSync(path, 'utf8')).packages
  } catch {
    return undefined
  }
}

const runNpmCi = async (root, say) => {
  say('Installing the dependencies from package-lock.json (a minute or so)…')
  const startedAt = Date.now()
  const seconds = () => Math.round((Date.now() - startedAt) / 1000)
  const ticker = setInterval(() => say(`  still installing, ${seconds()} s`), progressEveryMs)
  const npm = spawn('npm', ['ci', '--include=dev', '--loglevel=error', '--no-audit', '--no-fund'], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    shell: process.platform === 'win32',
  })
  let output = ''
  const keep = (chunk) => {
    output = (output + chunk).slice(-64_000)
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
    clearInterval(ticker)
  }
  say(`Dependencies installed in ${seconds()} s.`)
}
