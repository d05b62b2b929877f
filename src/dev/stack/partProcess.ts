import { spawn } from 'node:child_process'
import { closeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { openPartLog } from './partLog.ts'
import type { PidRecord, RecordedPart } from './pidRecord.ts'

/** How to run one process of the stack. */
export type PartCommand = {
  /** Shown to people and used for the log's name. */
  name: string
  file: string
  args: readonly string[]
  env: Record<string, string>
  cwd?: string
  /** Run as this user; only root may ask for it. */
  user?: { uid: number; gid: number }
  logPath: string
  /** Asks the process for a clean end. */
  stopSignal: NodeJS.Signals
  /** Ends the process when a killed start left it behind. */
  lostSignal: RecordedPart['lostSignal']
  /** How long the clean end may take before SIGKILL. */
  stopGraceMs: number
}

/** A running process of the stack. */
export type PartProcess = {
  pid: number
  /** Resolves, never rejects, when the process has ended: `exit 1` or a signal's name. */
  ended: Promise<string>
  hasEnded: () => boolean
  /** Asks for a clean end and kills after the grace time; resolves when it is gone. */
  stop: () => Promise<void>
  /** SIGKILL, as a crash. */
  kill: () => void
}

/**
 * Starts one process in a group of its own: a Ctrl-C at the terminal is for us, and we end the parts
 * in their order.
 */
export const startPart = async (command: PartCommand, pids: PidRecord): Promise<PartProcess> => {
  const log = openPartLog(command.logPath)
  const child = spawn(command.file, command.args, {
    stdio: ['ignore', log, log],
    detached: true,
    env: command.env,
    ...(command.cwd === undefined ? {} : { cwd: command.cwd }),
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
    const patience = new AbortController()
    await Promise.race([
      ended,
      sleep(command.stopGraceMs, undefined, { signal: patience.signal }).catch(() => undefined),
    ])
    patience.abort()
    if (!over) child.kill('SIGKILL')
    await ended
  }
  return { pid, ended, hasEnded: () => over, stop, kill: () => void child.kill('SIGKILL') }
}
