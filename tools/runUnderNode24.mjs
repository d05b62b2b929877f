// Runs a script under Node 24 in a child process that ends with this process. No dependencies. Runs on Node 20
// and later.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const nodeMajorMin = 24
const forwardedSignals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2']
/**
 * On Ctrl-C the terminal signals the whole process group, and npm forwards the signal once more. The same
 * signal again within this time is the same Ctrl-C.
 */
const sameSignalMs = 300
/** How long a process that signalled itself may take to end. */
const selfSignalMs = 1000

/** Whether the Node that runs this process can run the project's TypeScript. */
export function hostIsNode24() {
  return Number(process.versions.node.split('.')[0]) >= nodeMajorMin
}

/**
 * The path of the Node program that runs the project: this one, or the one from npm. Its package has no install
 * script, so that npm checks all of it against the hash in package-lock.json.
 * @param {string} root folder of the checkout
 */
export function node24(root) {
  const fromNpm = `node_modules/node-${process.platform}-${process.arch}/bin/node`
  return hostIsNode24() ? process.execPath : join(root, fromNpm)
}

/**
 * Runs the script and ends this process as the script ended: with its exit code, or by its signal.
 *
 * The child gets a process group of its own, so that a signal reaches it only through this process, and once.
 * It holds one end of a pipe: when this process is killed, the pipe closes and the child ends itself.
 * @param {string} root folder of the checkout
 * @param {string} script path of the script
 * @param {string[]} args
 */
export function runUnderNode24(root, script, args) {
  const entry = fileURLToPath(new URL('./underNode24.mjs', import.meta.url))
  const child = spawn(node24(root), [entry, script, ...args], {
    stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
    detached: true,
  })
  const stopForwarding = forwardSignals(child)
  child.on('error', (error) => {
    process.stderr.write(`Cannot run ${node24(root)}: ${error.message}\n`)
    process.exit(1)
  })
  child.on('exit', (code, signal) => {
    stopForwarding()
    if (signal === null) process.exit(code ?? 1)
    process.kill(process.pid, signal)
    // A signal that does not end this process must not become exit code 0.
    setTimeout(() => process.exit(1), selfSignalMs)
  })
}

function forwardSignals(child) {
  const lastAtMs = new Map()
  const forward = (signal) => {
    const nowMs = Date.now()
    const isRepeat = nowMs - (lastAtMs.get(signal) ?? -Infinity) < sameSignalMs
    lastAtMs.set(signal, nowMs)
    if (!isRepeat) child.kill(signal)
  }
  for (const signal of forwardedSignals) process.on(signal, forward)
  return () => {
    for (const signal of forwardedSignals) process.removeListener(signal, forward)
  }
}
