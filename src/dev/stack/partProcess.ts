import { spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync, renameSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { defined } from '../../domain/defined.ts'
import type { PidRecord, RecordedPart } from './pidRecord.ts'
import type { SystemUser } from './runCommand.ts'

/** How to start one part of the stack: PostgreSQL, the Temporal server or Temporal's UI. */
export type PartCommand = {
  /** The name of the part in messages and in the name of its log file. */
  readonly name: string
  readonly file: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd?: string
  /** The user who runs the part. Only root may set this. */
  readonly user?: SystemUser
  readonly logPath: string
  /** The signal that asks the part to end cleanly. */
  readonly stopSignal: NodeJS.Signals
  /** The signal that ends the part after the process that started it was killed. */
  readonly lostSignal: RecordedPart['lostSignal']
  /** How long the part may take to end cleanly. After that it gets SIGKILL. */
  readonly stopGraceMs: number
}

/** A running part. */
export type PartProcess = {
  readonly pid: number
  /** Resolves when the process has ended, to `exit 1` or a signal's name. Never rejects. */
  readonly ended: Promise<string>
  readonly hasEnded: () => boolean
  /**
   * Asks the part to end cleanly, and sends SIGKILL after the grace time. Resolves when the process has
   * ended.
   */
  readonly stop: () => Promise<void>
  /** Sends SIGKILL. */
  readonly kill: () => void
}

/** Limit for the size of a log. A larger log is renamed at the next start. Only one older log is kept. */
const logBytesMax = 16 * 1024 * 1024
const tailLinesMax = 12

/**
 * Starts one part and records its process id. The part gets its own process group. So Ctrl-C in the terminal
 * does not reach the part, and the stack can end its parts in order. Rejects when the program cannot be
 * started.
 */
export async function startPart(command: PartCommand, pids: PidRecord): Promise<PartProcess> {
  const log = openPartLog(command.logPath)
  const child = spawn(command.file, command.args, {
    stdio: ['ignore', log, log],
    detached: true,
    env: command.env,
    ...defined({ cwd: command.cwd }),
    ...command.user,
  })
  closeSync(log)
  let over = false
  const ended = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => {
      over = true
      resolve(signal ?? `exit ${code}`)
    })
  })
  const pid = await new Promise<number>((resolve, reject) => {
    child.once('error', reject)
    child.once('spawn', () => resolve(child.pid ?? 0))
  })
  pids.add({ name: command.name, pid, lostSignal: command.lostSignal })
  void ended.then(() => pids.remove(pid))

  const stop = async (): Promise<void> => {
    child.kill(command.stopSignal)
    const timer = new AbortController()
    await Promise.race([
      ended,
      sleep(command.stopGraceMs, undefined, { signal: timer.signal }).catch(() => undefined),
    ])
    timer.abort()
    if (!over) child.kill('SIGKILL')
    await ended
  }
  return { pid, ended, hasEnded: () => over, stop, kill: () => void child.kill('SIGKILL') }
}

/** Returns the path of a part's log file. */
export function partLogPath(dataDir: string, part: string): string {
  return join(dataDir, 'logs', `${part}.log`)
}

/** Opens a log for appending and returns its file descriptor. The caller must close it. */
function openPartLog(path: string): number {
  mkdirSync(dirname(path), { recursive: true })
  const sizeBytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (sizeBytes > logBytesMax) renameSync(path, `${path}.1`)
  return openSync(path, 'a', 0o600)
}

/** Returns the last lines of a log, for an error message. Returns an empty text when there is no log. */
export function logTail(path: string): string {
  try {
    return readFileSync(path, 'utf8').trimEnd().split('\n').slice(-tailLinesMax).join('\n')
  } catch {
    return ''
  }
}
