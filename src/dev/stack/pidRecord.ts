import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { processStart, type ProcessIdentity } from '../../../tools/processIdentity.mjs'

const partSchema = z.object({
  name: z.string(),
  pid: z.number().int(),
  start: z.string(),
  /** Ends it when it was left behind: data that a kill cannot hurt may be left by SIGKILL. */
  lostSignal: z.enum(['SIGINT', 'SIGKILL']),
})

const recordSchema = z.object({
  owner: z.object({ pid: z.number().int(), start: z.string() }),
  parts: z.array(partSchema),
})

/** A process of the stack, as written down for whoever has to clean up after a kill. */
export type RecordedPart = z.infer<typeof partSchema>

/** What DATA_DIR/pids.json holds. */
export type PidRecordContent = z.infer<typeof recordSchema>

/** The processes that this start of the stack runs. */
export type PidRecord = {
  add: (part: { name: string; pid: number; lostSignal: RecordedPart['lostSignal'] }) => void
  remove: (pid: number) => void
  /** Removes the file, for good: nothing is left to clean up. */
  clear: () => void
}

const recordPath = (dataDir: string): string => join(dataDir, 'pids.json')

/** Reads the record of the last start; undefined when there is none or it cannot be read. */
export const readPidRecord = (dataDir: string): PidRecordContent | undefined => {
  try {
    return recordSchema.parse(JSON.parse(readFileSync(recordPath(dataDir), 'utf8')))
  } catch {
    return undefined
  }
}

/** Removes the record, once what it names is gone. */
export const removePidRecord = (dataDir: string): void =>
  rmSync(recordPath(dataDir), { force: true })

/**
 * Keeps DATA_DIR/pids.json, with the start time of every process, so that a pid which the system has
 * given to another program is never taken for ours.
 */
export const createPidRecord = (dataDir: string, owner: ProcessIdentity): PidRecord => {
  let parts: RecordedPart[] = []
  let isClosed = false
  const write = (): void => {
    // A part that ends late must not write over the record of the next start.
    if (isClosed) return
    mkdirSync(dataDir, { recursive: true })
    const path = recordPath(dataDir)
    writeFileSync(`${path}.new`, `${JSON.stringify({ owner, parts }, null, 2)}\n`)
    renameSync(`${path}.new`, path)
  }
  return {
    add: ({ name, pid, lostSignal }) => {
      const start = processStart(pid)
      if (start === undefined) return
      parts = [...parts, { name, pid, start, lostSignal }]
      write()
    },
    remove: (pid) => {
      parts = parts.filter((part) => part.pid !== pid)
      write()
    },
    clear: () => {
      isClosed = true
      removePidRecord(dataDir)
    },
  }
}

/** This process, as the owner of what it starts. */
export const ownIdentity = (): ProcessIdentity => ({
  pid: process.pid,
  start: processStart(process.pid) ?? '',
})
