import { spawn, spawnSync } from 'node:child_process'
import type { Environment } from '../config/environment.ts'
import { inheritedEnvironment } from '../config/environment.ts'
import { defined } from '../domain/defined.ts'

/**
 * A failure to start that a person can fix. Its message says what to do. So `npm start` prints only the
 * message, without a stack trace.
 */
export class StartError extends Error {
  override readonly name = 'StartError'
}

/** A program that ends with this process. */
export type Program = {
  readonly file: string
  readonly args: readonly string[]
  readonly env: Environment
  readonly cwd?: string | undefined
  /** A program that runs this one, such as `nice`, and its arguments. */
  readonly within?: readonly string[] | undefined
  /** The signal that ends the program. Default: SIGTERM, and SIGKILL when this process ends without stopping it. */
  readonly endSignal?: NodeJS.Signals
}

type CommandOptions = Omit<Program, 'file' | 'args'> & {
  readonly timeoutMs: number
  /** Called with each piece of standard output and standard error. */
  readonly onOutput?: (text: string) => void
}

const outputCharsMax = 64_000

/**
 * Runs a command and waits for its end. Kills it when it does not end within `timeoutMs`. Returns whether it
 * exited with code 0, how it ended (`exit 1`, a signal's name, or why it could not start), and the last 64,000
 * characters of standard output and standard error.
 */
export async function runCommand(
  file: string,
  args: readonly string[],
  { timeoutMs, onOutput, ...program }: CommandOptions,
) {
  const { child, ended, kill } = spawnBound(
    { file, args, ...program },
    { stdio: ['pipe', 'pipe', 'pipe'] },
  )
  let output = ''
  const keep = (chunk: Buffer): void => {
    const text = chunk.toString('utf8')
    output = (output + text).slice(-outputCharsMax)
    onOutput?.(text)
  }
  child.stdout?.on('data', keep)
  child.stderr?.on('data', keep)
  const timer = setTimeout(() => kill('SIGKILL'), timeoutMs)
  const end = await ended
  clearTimeout(timer)
  return { ok: end === 'exit 0', end, output: output.trim() }
}

/**
 * Starts a program that ends when this process ends: the kernel or a shell then sends it a signal. `ended` resolves to
 * `exit 1`, a signal's name, or the reason why the program could not be started. `end` returns the same, or `undefined`
 * while the program runs.
 */
export function spawnBound(
  program: Program,
  options: { readonly stdio: ('pipe' | 'inherit' | number)[]; readonly detached?: boolean },
) {
  const { within = [], file, args, endSignal = 'SIGKILL', env, cwd } = program
  const line = [...within, ...boundToThisProcess(endSignal), file, ...args]
  const child = spawn(line[0] ?? file, line.slice(1), {
    ...options,
    env: { ...env },
    ...defined({ cwd }),
  })
  const kill = (signal: NodeJS.Signals): void => void child.kill(signal)
  let end: string | undefined
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve((end = error.message)))
    child.once('close', (code, signal) => resolve((end ??= signal ?? `exit ${code}`)))
  })
  return { child, kill, ended, end: () => end }
}

let hasSetpriv: boolean | undefined

/**
 * Returns the beginning of a command line that ends what follows with this process, also when this process is
 * killed. With `setpriv` the kernel sends the signal. The shell looks whether this process is still there,
 * because it may have ended before `setpriv` told the kernel. Elsewhere another shell sends the signal when
 * its standard input closes.
 */
function boundToThisProcess(signal: NodeJS.Signals): readonly string[] {
  const name = signal.slice('SIG'.length)
  const setpriv = ['setpriv', `--pdeathsig=${name}`] as const
  hasSetpriv ??= spawnSync(setpriv[0], [setpriv[1], 'true'], { stdio: 'ignore' }).status === 0
  const kernel = 'test "$PPID" = "$1" && shift && exec "$@"'
  if (hasSetpriv) return [...setpriv, 'sh', '-c', kernel, 'start', String(process.pid)]
  const shell = 'exec 4<&0; (read -r _ <&4; kill -s "$0" $$) & exec "$@" 4<&-'
  return ['sh', '-c', shell, name]
}

/**
 * Returns the variables that PostgreSQL and Temporal get. All others are left out: they may be secrets, and
 * variables such as PGDATA would change what PostgreSQL does. GOGC lets Temporal take more memory and less CPU.
 */
export function basicEnvironment(): Readonly<Record<string, string>> {
  const names = ['PATH', 'HOME', 'LANG', 'TMPDIR', 'TZ', 'GOGC']
  return Object.fromEntries(
    Object.entries(inheritedEnvironment()).filter(([name]) => names.includes(name)),
  )
}
