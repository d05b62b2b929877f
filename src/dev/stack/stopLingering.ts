import type { ProcessIdentity } from '../../../tools/processIdentity.mjs'
import { endProcess } from './endProcess.ts'
import { readPidRecord, removePidRecord } from './pidRecord.ts'

const graceMs = 10_000

/**
 * Ends the processes that an earlier start left running in this DATA_DIR because it was killed.
 * Returns the names of those that were still there.
 *
 * @param ownedBy end them only if this process had started them: the watchdog of a killed start must
 *   not end the parts of the next one.
 */
export const stopLingering = async (
  dataDir: string,
  ownedBy?: ProcessIdentity,
): Promise<string[]> => {
  const record = readPidRecord(dataDir)
  if (record === undefined) return []
  if (ownedBy && (record.owner.pid !== ownedBy.pid || record.owner.start !== ownedBy.start)) {
    return []
  }
  const ended = await Promise.all(
    record.parts.map(async (part) => {
      const gone = await endProcess(part, { signal: part.lostSignal, graceMs })
      return { name: part.name, gone }
    }),
  )
  const left = ended.filter((part) => !part.gone)
  if (left.length > 0) {
    throw new Error(`cannot end ${left.map((part) => part.name).join(', ')} of an earlier start`)
  }
  if (readPidRecord(dataDir)?.owner.start === record.owner.start) removePidRecord(dataDir)
  return ended.map((part) => part.name)
}
