import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'

const outputCharsMax = 64_000

/** A finished command: its exit code (or the signal that ended it) and all it printed. */
export type CommandResult = { ok: boolean; end: string; output: string }

/** How to run a command to its end. */
export type CommandOptions = {
  env: Record<string, string | undefined>
  timeoutMs: number
  cwd?: string
  /** Run as this user; only root may ask for it. */
  user?: { uid: number; gid: number }
}

/** Runs a command to its end. A command that cannot be started, or takes too long, is a failed one. */
export const runCommand = async (
  file: string,
  args: readonly string[],
  { env, timeoutMs, cwd, user }: CommandOptions,
): Promise<CommandResult> => {
  const child = spawn(file, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env,
    ...(cwd === undefined ? {} : { cwd }),
    ...user,
  })
  let output = ''
  const keep = (chunk: Buffer): void => {
    output = (output + chunk.toString('utf8')).slice(-outputCharsMax)
  }
  child.stdout.on('data', keep)
  child.stderr.on('data', keep)
  // A long command, such as a build, does not outlive us.
  const endWithUs = (): void => void child.kill('SIGKILL')
  process.once('exit', endWithUs)
  const patience = new AbortController()
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('close', (code, signal) => resolve(signal ?? `exit ${code}`))
  })
  const late = sleep(timeoutMs, undefined, { signal: patience.signal }).then(
    () => {
      child.kill('SIGKILL')
      return `no end within ${timeoutMs / 1000} s`
    },
    () => '',
  )
  const end = await Promise.race([ended, late])
  patience.abort()
  process.removeListener('exit', endWithUs)
  return { ok: end === 'exit 0', end, output: output.trim() }
}
