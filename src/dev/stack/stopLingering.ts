import { setTimeout as sleep } from 'node:timers/promises'
import type { ProcessIdentity } from '../../../tools/processIdentity.mjs'
import { isSameProcessAlive } from '../../../tools/processIdentity.mjs'
import { readPidRecord, removePidRecord } from './pidRecord.ts'

const graceMs = 10_000
const pollMs = 50
/**
 * How long to wait after SIGKILL. Five seconds are plenty, because only the kernel can still delay the end of
 * the process.
 */
const killGraceMs = 5_000

/**
 * Ends the parts that a killed start left running in this DATA_DIR, and returns their names. Throws when a
 * part does not end.
 *
 * @param ownedBy the process that must have started the parts. If another process started them, nothing is ended. So
 * the watchdog of a killed start cannot end the parts of the next start.
 */
export async function stopLingering(
  dataDir: string,
  ownedBy?: ProcessIdentity,
): Promise<readonly string[]> {
  const record = readPidRecord(dataDir)
  if (record === undefined) return []
  if (ownedBy && (record.owner.pid !== ownedBy.pid || record.owner.start !== ownedBy.start)) {
    return []
  }
  const ended = await Promise.all(
    record.parts.filter(isSameProcessAlive).map(async (part) => ({
      name: part.name,
      gone: await endProcess(part, part.lostSignal),
    })),
  )
  const left = ended.filter((part) => !part.gone)
  if (left.length > 0) {
    throw new Error(`cannot end ${left.map((part) => part.name).join(', ')} of an earlier start`)
  }
  if (readPidRecord(dataDir)?.owner.start === record.owner.start) removePidRecord(dataDir)
  return ended.map((part) => part.name)
}

/**
 * Ends a process that is not a child of this process. Sends `signal`, and SIGKILL after 10 s. Returns whether
 * the process has ended. When the system has given the process id to another process, sends no signal.
 */
export async function endProcess(
  identity: ProcessIdentity,
  signal: NodeJS.Signals,
): Promise<boolean> {
  if (!sendSignal(identity, signal) || (await isGone(identity, graceMs))) return true
  if (!sendSignal(identity, 'SIGKILL')) return true
  return isGone(identity, killGraceMs)
}

/** Sends a signal. Returns false when the process has already ended. */
function sendSignal(identity: ProcessIdentity, signal: NodeJS.Signals): boolean {
  if (!isSameProcessAlive(identity)) return false
  try {
    process.kill(identity.pid, signal)
    return true
  } catch {
    return false
  }
}

async function isGone(identity: ProcessIdentity, limitMs: number): Promise<boolean> {
  const endsAtMs = Date.now() + limitMs
  while (isSameProcessAlive(identity)) {
    if (Date.now() >= endsAtMs) return false
    await sleep(pollMs)
  }
  return true
}
