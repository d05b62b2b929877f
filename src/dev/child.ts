import type { SpawnOptions } from 'node:child_process'
import { spawn, spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync, renameSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Environment } from '../config.ts'
import { ConfigError } from '../config/configError.ts'
import { defined } from '../domain/defined.ts'

/**
 * A failure to start that a person can fix. Its message says what to do. So `npm start` prints only the message,
 * without a stack trace.
 */
export class StartError extends Error {
  override readonly name = 'StartError'
}

/** Prints one line that says what the start is doing. */
export type Say = (line: string) => void

/** How a program runs. */
type Surroundings = {
  readonly env: Environment
  readonly cwd?: string | undefined
  /** A program that runs another one, such as `unshare`, and its arguments. */
  readonly within?: readonly string[] | undefined
  /** The system user who runs the program. Only root may set this. */
  readonly user?: { readonly uid: number; readonly gid: number } | undefined
}

/** A part of the service that runs as a process of its own, and how it is ended. */
export type Part = Surroundings & {
  /** The name of the part in messages. */
  readonly name: string
  readonly file: string
  readonly args: readonly string[]
  /** The name of its log in DATA_DIR/logs. Without one, its output goes where the output of this process goes. */
  readonly log?: string
  /** The signal that asks the part to end cleanly. */
  readonly stopSignal: NodeJS.Signals
  /** The signal that ends the part when this process ends without stopping it. */
  readonly lostSignal: NodeJS.Signals
  /** How long the part may take to end cleanly. After that it gets SIGKILL. Without a limit it is waited for. */
  readonly stopGraceMs?: number
  /** The exit code by which the part refuses its configuration. It is then not started again. */
  readonly refusedExitCode?: number
}

/** What all parts of one start share. */
export type Launch = {
  /** Absolute path of the folder that contains everything that is stored. */
  readonly dataDir: string
  /** The file descriptor of the lock of DATA_DIR. Each part keeps it open as long as it runs: see `lockFile`. */
  readonly lockFd: number
  /** The environment of this process. */
  readonly env: Environment
  readonly say: Say
  /** Every started part, in the order of their start. */
  readonly children: Child[]
}

/** A part that is started again whenever it ends without being asked to. */
export type Child = {
  /**
   * Asks `faultOf` again and again, until it answers `undefined`. Throws `StartError` when the part ends, or when
   * `timeoutMs` is over. The message then has the last fault and the last lines of the part's log. Throws `ConfigError`
   * when the part refuses its configuration.
   */
  readonly ready: (faultOf: () => Promise<string | undefined>, timeoutMs: number) => Promise<void>
  /** Resolves to a message when the part refuses its configuration. */
  readonly refused: Promise<string>
  /** Asks the part to end, and resolves when it has ended. It is not started again. */
  readonly stop: () => Promise<void>
}

const restartPauseMsMin = 1_000
const restartPauseMsMax = 30_000
const readyPollMs = 50
/** A larger log is renamed at the next start. Only one older log is kept. */
const logBytesMax = 16 * 1024 * 1024
const tailLinesMax = 12

/** Starts a part and keeps it running. The pause before a start doubles with every process that ends quickly. */
export function startChild(part: Part, launch: Launch): Child {
  const logPath = part.log && join(launch.dataDir, 'logs', `${part.log}.log`)
  const spawnPart = () => spawnInGroup(part, { logPath, lockFd: launch.lockFd })
  const stopped = new AbortController()
  const firstEnd = Promise.withResolvers<string>()
  const refused = Promise.withResolvers<string>()
  const refusal = `${part.name} refuses its configuration, so it is not started again. Its message above says why.`
  const isRefusal = (end: string) => end === `exit ${part.refusedExitCode}`
  let current = spawnPart()

  const keepRunning = async (): Promise<void> => {
    let pauseMs = restartPauseMsMin
    for (;;) {
      const startedAtMs = performance.now()
      const end = await current.ended
      firstEnd.resolve(end)
      if (stopped.signal.aborted) return
      if (isRefusal(end)) return refused.resolve(refusal)
      const livedMs = performance.now() - startedAtMs
      pauseMs = livedMs > restartPauseMsMax ? restartPauseMsMin : pauseMs
      launch.say(`${part.name} ended unexpectedly (${end}): starting it again.`)
      await sleep(pauseMs, undefined, { signal: stopped.signal }).catch(() => undefined)
      if (stopped.signal.aborted) return
      pauseMs = Math.min(pauseMs * 2, restartPauseMsMax)
      current = spawnPart()
    }
  }
  const kept = keepRunning()

  const ready: Child['ready'] = async (faultOf, timeoutMs) => {
    const endsAtMs = performance.now() + timeoutMs
    const failed = (what: string) => new StartError(`${part.name} ${what}${logTail(logPath)}`)
    for (;;) {
      const fault = await faultOf()
      if (fault === undefined) return
      const end = await Promise.race([firstEnd.promise, sleep(readyPollMs, undefined)])
      if (end !== undefined && isRefusal(end)) throw new ConfigError(refusal)
      if (end !== undefined) throw failed(`ended at its start (${end}).`)
      if (performance.now() > endsAtMs) {
        throw failed(`was not ready within ${timeoutMs / 1000} s: ${fault}.`)
      }
    }
  }

  const child: Child = {
    ready,
    refused: refused.promise,
    stop: async () => {
      stopped.abort()
      current.kill(part.stopSignal)
      const timer = part.stopGraceMs && setTimeout(() => current.kill('SIGKILL'), part.stopGraceMs)
      await kept
      clearTimeout(timer)
    },
  }
  launch.children.push(child)
  return child
}

/** Starts the process of a part, in a process group of its own, so that Ctrl-C reaches the starting process alone. */
function spawnInGroup(part: Part, files: { logPath: string | undefined; lockFd: number }) {
  const log = files.logPath === undefined ? 'inherit' : openLog(files.logPath)
  // The API and the worker end themselves when their standard input closes.
  const spawned = spawnBound(part, { stdio: ['pipe', log, log, files.lockFd], detached: true })
  if (log !== 'inherit') closeSync(log)
  return spawned
}

/** What `runCommand` returns. */
export type CommandResult = {
  /** True when the command exited with code 0. */
  readonly ok: boolean
  /** How it ended, for people: `exit 1`, a signal's name, or the reason why it could not start. */
  readonly end: string
  /** The last 64,000 characters of standard output and standard error. */
  readonly output: string
}

const outputCharsMax = 64_000

/**
 * Runs a command and waits for its end. Kills it when it does not end within `timeoutMs`. The result of a killed
 * command, and of a command that cannot be started, is not `ok`.
 */
export async function runCommand(
  file: string,
  args: readonly string[],
  { timeoutMs, ...surroundings }: Surroundings & { readonly timeoutMs: number },
): Promise<CommandResult> {
  const command = { file, args, ...surroundings, lostSignal: 'SIGKILL' } as const
  const { child, ended, kill } = spawnBound(command, { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  const keep = (chunk: Buffer): void => {
    output = (output + chunk.toString('utf8')).slice(-outputCharsMax)
  }
  child.stdout?.on('data', keep)
  child.stderr?.on('data', keep)
  const timer = setTimeout(() => kill('SIGKILL'), timeoutMs)
  const end = await ended
  clearTimeout(timer)
  return { ok: end === 'exit 0', end, output: output.trim() }
}

/**
 * Starts a program that ends with this process: by `lostSignal` from the kernel where there is `setpriv`, also when
 * this process is killed; elsewhere when this process exits in any other way.
 */
function spawnBound(
  program: Surroundings & Pick<Part, 'file' | 'args' | 'lostSignal'>,
  options: Pick<SpawnOptions, 'stdio' | 'detached'>,
) {
  const { within = [], file, args, lostSignal, env, cwd, user } = program
  const line = [...within, ...boundToThisProcess(lostSignal), file, ...args]
  const child = spawn(line[0] ?? file, line.slice(1), {
    ...options,
    env: { ...env },
    ...defined({ cwd }),
    ...user,
  })
  const kill = (signal: NodeJS.Signals): void => void child.kill(signal)
  const killAtExit = (): void => kill(lostSignal)
  process.once('exit', killAtExit)
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('close', (code, signal) => resolve(signal ?? `exit ${code}`))
  }).finally(() => process.removeListener('exit', killAtExit))
  return { child, ended, kill }
}

let hasSetpriv: boolean | undefined

/**
 * Returns the beginning of a command line that binds what follows to this process. The shell looks whether this
 * process is still there, because it may have ended before `setpriv` told the kernel about it.
 */
function boundToThisProcess(signal: NodeJS.Signals): readonly string[] {
  const setpriv = ['setpriv', `--pdeathsig=${signal.slice('SIG'.length)}`] as const
  hasSetpriv ??= spawnSync(setpriv[0], [setpriv[1], 'true'], { stdio: 'ignore' }).status === 0
  const script = 'test "$PPID" = "$0" && exec "$@"'
  return hasSetpriv ? [...setpriv, 'sh', '-c', script, String(process.pid)] : []
}

/** Opens a log for appending and returns its file descriptor. The caller must close it. */
function openLog(path: string): number {
  mkdirSync(dirname(path), { recursive: true })
  const sizeBytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (sizeBytes > logBytesMax) renameSync(path, `${path}.1`)
  return openSync(path, 'a', 0o600)
}

/** Returns the last lines of a log as the end of a message. Returns an empty text when there is no log. */
function logTail(path: string | undefined): string {
  if (path === undefined) return ''
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n').slice(-tailLinesMax)
  return ` The end of ${path}:\n${lines.join('\n')}`
}

/**
 * Returns the variables that PostgreSQL and Temporal get. All others are left out: they may be secrets, and variables
 * such as PGDATA would change what PostgreSQL does.
 */
export function basicEnvironment(env: Environment): Readonly<Record<string, string>> {
  const names = ['PATH', 'HOME', 'LANG', 'TMPDIR', 'TZ']
  return Object.fromEntries(names.flatMap((name) => (env[name] ? [[name, env[name]]] : [])))
}
