// Runs a script under Node 24 as if this process had become it. No dependencies; Node 20 and later.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const nodeMajorWanted = 24
const forwarded = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2']
/**
 * On Ctrl-C a terminal signals the whole process group, and npm passes the signal on once more: the
 * same signal within this time is the same wish.
 */
const sameSignalMs = 300

/** Whether the Node that runs this is new enough to run TypeScript as the project needs it. */
export const hostIsNode24 = () => Number(process.versions.node.split('.')[0]) >= nodeMajorWanted

/**
 * The Node binary to run the project with.
 * @param {string} root folder of the checkout
 */
export const node24 = (root) =>
  hostIsNode24() ? process.execPath : join(root, 'node_modules/node/bin/node')

/**
 * Runs the script and ends this process as the script ended: same exit code or same signal.
 *
 * The child gets a process group of its own, so every signal reaches it through here and exactly
 * once; a pipe that closes with this process takes the child with it if this process is killed.
 * @param {string} root folder of the checkout
 * @param {string} script path of the script
 * @param {string[]} args
 */
export const runUnderNode24 = (root, script, args) => {
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
    // A signal that does not end a process by itself must not turn into success.
    setTimeout(() => process.exit(1), 1000)
  })
}

const forwardSignals = (child) => {
  const lastAt = new Map()
  const forward = (signal) => {
    const now = Date.now()
    const isRepeat = now - (lastAt.get(signal) ?? -Infinity) < sameSignalMs
    lastAt.set(signal, now)
    if (!isRepeat) child.kill(signal)
  }
  for (const signal of forwarded) process.on(signal, forward)
  return () => {
    for (const signal of forwarded) process.removeListener(signal, forward)
  }
}
