// Names a process so that it can be recognised later: a pid alone is used again by the system, a pid
// with its start time is not. No dependencies; runs on every Node from 20.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** How long `ps` may take on systems without /proc. */
const psTimeoutMs = 5000

/**
 * When the process started, in a form only good for comparing; undefined when no such process runs.
 * A zombie counts as gone: it holds no file, no port and no memory.
 * @param {number} pid
 * @returns {string | undefined}
 */
export const processStart = (pid) =>
  process.platform === 'linux' ? startFromProc(pid) : startFromPs(pid)

/**
 * Whether the very process that was recorded still runs.
 * @param {{ pid: number, start: string }} identity
 * @returns {boolean}
 */
export const isSameProcessAlive = (identity) => processStart(identity.pid) === identity.start

const startFromProc = (pid) => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The second field is the command in brackets and may hold anything, brackets included.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const state = fields[0]
    const startTicks = fields[19]
    if (state === 'Z' || state === 'X' || startTicks === undefined) return undefined
    return `${bootId()}/${startTicks}`
  } catch {
    return undefined
  }
}

// Start times count from boot: without the boot's id, a record from before a reboot could match.
const bootId = () => {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return ''
  }
}

const startFromPs = (pid) => {
  const ps = spawnSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], {
    encoding: 'utf8',
    timeout: psTimeoutMs,
    env: { ...process.env, LC_ALL: 'C' },
  })
  const line = ps.stdout?.trim() ?? ''
  if (ps.status !== 0 || line === '' || line.startsWith('Z')) return undefined
  return line.replace(/^\S+\s+/, '')
}
