// Identifies a process by its id and its start time, because the system reuses process ids.
// No dependencies. Runs on Node 20 and later.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** Time limit of `ps`, on systems without /proc. */
const psTimeoutMs = 5000

/** See processIdentity.d.mts. */
export function processStart(pid) {
  return process.platform === 'linux' ? startFromProc(pid) : startFromPs(pid)
}

/** See processIdentity.d.mts. */
export function isSameProcessAlive(identity) {
  return processStart(identity.pid) === identity.start
}

function startFromProc(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The second field is the command in brackets. It may contain spaces and brackets (proc(5)).
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const state = fields[0]
    const startTicks = fields[19]
    if (state === 'Z' || state === 'X' || startTicks === undefined) return undefined
    return `${bootId()}/${startTicks}`
  } catch {
    return undefined
  }
}

// The start time counts from boot, so the boot's id keeps a record from before a reboot from matching.
function bootId() {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return ''
  }
}

function startFromPs(pid) {
  const ps = spawnSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], {
    encoding: 'utf8',
    timeout: psTimeoutMs,
    env: { ...process.env, LC_ALL: 'C' },
  })
  const line = ps.stdout?.trim() ?? ''
  if (ps.status !== 0 || line === '' || line.startsWith('Z')) return undefined
  return line.replace(/^\S+\s+/, '')
}
