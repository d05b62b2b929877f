import { setTimeout as sleep } from 'node:timers/promises'
import { isSameProcessAlive, type ProcessIdentity } from '../../../tools/processIdentity.mjs'

const pollMs = 50
/** After SIGKILL only the kernel can delay the end. */
const killGraceMs = 5_000

/**
 * Ends a process that is not our child: asks by signal, kills after `graceMs`. Says whether it is
 * gone. A process that took over the pid in the meantime is never touched.
 */
export const endProcess = async (
  identity: ProcessIdentity,
  { signal, graceMs }: { signal: NodeJS.Signals; graceMs: number },
): Promise<boolean> => {
  if (!sendSignal(identity, signal) || (await isGone(identity, graceMs))) return true
  if (!sendSignal(identity, 'SIGKILL')) return true
  return isGone(identity, killGraceMs)
}

const sendSignal = (identity: ProcessIdentity, signal: NodeJS.Signals): boolean => {
  if (!isSameProcessAlive(identity)) return false
  try {
    process.kill(identity.pid, signal)
    return true
  } catch {
    return false
  }
}

const isGone = async (identity: ProcessIdentity, withinMs: number): Promise<boolean> => {
  const giveUpAt = Date.now() + withinMs
  while (isSameProcessAlive(identity)) {
    if (Date.now() >= giveUpAt) return false
    await sleep(pollMs)
  }
  return true
}
