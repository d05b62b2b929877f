import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { ProcessIdentity } from '../../../tools/processIdentity.mjs'
import { processStart } from '../../../tools/processIdentity.mjs'

const partSchema = z.object({
  name: z.string(),
  pid: z.number().int(),
  start: z.string(),
  /** SIGINT lets PostgreSQL write a checkpoint. Parts that keep no data on disk get SIGKILL. */
  lostSignal: z.enum(['SIGINT', 'SIGKILL']),
})

const recordSchema = z.object({
  owner: z.object({ pid: z.number().int(), start: z.string() }),
  parts: z.array(partSchema),
})

/** A part as DATA_DIR/pids.json records it. */
export type RecordedPart = Readonly<z.infer<typeof partSchema>>

/** The content of DATA_DIR/pids.json: the process that started the stack, and the parts it runs. */
export type PidRecordContent = {
  readonly owner: ProcessIdentity
  readonly parts: readonly RecordedPart[]
}

/** Writes DATA_DIR/pids.json as parts start and end. */
export type PidRecord = {
  readonly add: (part: Omit<RecordedPart, 'start'>) => void
  readonly remove: (pid: number) => void
  /** Removes the file. Later calls of `add` and `remove` write nothing. */
  readonly clear: () => void
}

/**
 * Creates the record of the parts that `owner` starts. The record holds the start time of every process,
 * so that a process id that the system has reused is not taken for a part.
 */
export function createPidRecord(dataDir: string, owner: ProcessIdentity): PidRecord {
  let parts: readonly RecordedPart[] = []
  let isClosed = false
  const write = (): void => {
    // A part that ends late must not overwrite the record of the next start.
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

/** Reads the record. Returns `undefined` when there is none, or when it cannot be read. */
export function readPidRecord(dataDir: string): PidRecordContent | undefined {
  try {
    return recordSchema.parse(JSON.parse(readFileSync(recordPath(dataDir), 'utf8')))
  } catch {
    return undefined
  }
}

/** Removes the record. */
export function removePidRecord(dataDir: string): void {
  rmSync(recordPath(dataDir), { force: true })
}

/** The identity of this process, as the owner of the parts it starts. */
export function ownIdentity(): ProcessIdentity {
  return { pid: process.pid, start: processStart(process.pid) ?? '' }
}

function recordPath(dataDir: string): string {
  return join(dataDir, 'pids.json')
}
