import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Environment } from '../../config.ts'
import { defined } from '../../domain/defined.ts'

/** The numbers of a system user and of the user's group. */
export type SystemUser = { readonly uid: number; readonly gid: number }

export type CommandOptions = {
  readonly env: Environment
  readonly timeoutMs: number
  readonly cwd?: string
  /** The user who runs the command. Only root may set this. */
  readonly user?: SystemUser
}

export type CommandResult = {
  /** True when the command exited with code 0. */
  readonly ok: boolean
  /** How the command ended, for people: `exit 1`, a signal's name, or the reason why it could not start. */
  readonly end: string
  /** The last 64,000 characters of standard output and standard error. */
  readonly output: string
}

const outputCharsMax = 64_000

/**
 * Runs a command and waits for its end. Kills the command when it does not end within `timeoutMs`. The result
 * of a killed command, and of a command that cannot be started, is not `ok`.
 */
export async function runCommand(
  file: string,
  args: readonly string[],
  { env, timeoutMs, cwd, user }: CommandOptions,
): Promise<CommandResult> {
  const child = spawn(file, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...env },
    ...defined({ cwd }),
    ...user,
  })
  let output = ''
  const keep = (chunk: Buffer): void => {
    output = (output + chunk.toString('utf8')).slice(-outputCharsMax)
  }
  child.stdout.on('data', keep)
  child.stderr.on('data', keep)
  // When Ctrl-C ends this process, a build that takes minutes must not continue.
  const killWithParent = (): void => void child.kill('SIGKILL')
  process.once('exit', killWithParent)
  const timer = new AbortController()
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('close', (code, signal) => resolve(signal ?? `exit ${code}`))
  })
  const timedOut = sleep(timeoutMs, undefined, { signal: timer.signal }).then(
    () => {
      child.kill('SIGKILL')
      return `no end within ${timeoutMs / 1000} s`
    },
    () => '',
  )
  const end = await Promise.race([ended, timedOut])
  timer.abort()
  process.removeListener('exit', killWithParent)
  return { ok: end === 'exit 0', end, output: output.trim() }
}

/**
 * Returns the variables that PostgreSQL and Temporal get. All others are left out: they may be secrets, and
 * variables such as PGDATA would change what PostgreSQL does.
 */
export function basicEnvironment(env: Environment): Readonly<Record<string, string>> {
  const names = ['PATH', 'HOME', 'LANG', 'TMPDIR', 'TZ']
  return Object.fromEntries(names.flatMap((name) => (env[name] ? [[name, env[name]]] : [])))
}
