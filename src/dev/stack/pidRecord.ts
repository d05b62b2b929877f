import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { ProcessIdentity } from '../../../tools/processIdentity.mjs'
import { processStart } from '../../../tools/processIdentity.mjs'

const partSchema = z.object({
  name: z.string(),
  pid: z.number().int(),
  start: z.string(),
  /**
   * The signal that ends this part when `npm start` was killed and left the part behind. PostgreSQL gets SIGINT, so
   * that it writes a checkpoint. All other parts get SIGKILL, by which they lose nothing.
   */
  lostSignal: z.enum(['SIGINT', 'SIGKILL']),
})

const recordSchema = z.object({
  owner: z.object({ pid: z.number().int(), start: z.string() }),
  parts: z.array(partSchema),
})

/** One part, as it is recorded in DATA_DIR/pids.json. */
export type RecordedPart = Readonly<z.infer<typeof partSchema>>

/** The content of DATA_DIR/pids.json: the process that started the stack, and the parts that it runs. */
export type PidRecordContent = {
  readonly owner: ProcessIdentity
  readonly parts: readonly RecordedPart[]
}

/** Keeps DATA_DIR/pids.json up to date while parts start and end. */
export type PidRecord = {
  readonly add: (part: Omit<RecordedPart, 'start'>) => void
  readonly remove: (pid: number) => void
  /** Removes the file. After that, `add` and `remove` write nothing. */
  readonly clear: () => void
}

/**
 * Creates the record of the parts that `owner` starts. The record contains the start time of every process.
 * So a process that got the id of an old part is not mistaken for that part.
 */
export function createPidRecord(dataDir: string, owner: ProcessIdentity): PidRecord {
  let parts: readonly RecordedPart[] = []
  let isClosed = false
  const write = (): void => {
    // A part may end late, when the next start has already written its own record. Do not overwrite that
    // record.
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

export function removePidRecord(dataDir: string): void {
  rmSync(recordPath(dataDir), { force: true })
}

/** Returns the identity of this process, which owns the parts that it starts. */
export function ownIdentity(): ProcessIdentity {
  return { pid: process.pid, start: processStart(process.pid) ?? '' }
}

function recordPath(dataDir: string): string {
  return join(dataDir, 'pids.json')
}
