import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { vi } from 'vitest'
import type { CliContext } from '../../../src/cli/context.ts'
import { operate } from '../../../src/wiring/cli.ts'

export type CliRun = {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

const script = fileURLToPath(new URL('../../../src/cli.ts', import.meta.url))
const timeoutMs = 20_000

/** Runs `darkroom ARGS` as a process with only the given environment. */
export function runDarkroom(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<CliRun> {
  const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], ...environment }
  return new Promise((resolve, reject) => {
    const options = { env, timeout: timeoutMs, encoding: 'utf8' } as const
    execFile(process.execPath, [script, ...args], options, (error, stdout, stderr) => {
      if (error === null) return resolve({ exitCode: 0, stdout, stderr })
      if (typeof error.code === 'number') return resolve({ exitCode: error.code, stdout, stderr })
      return reject(error)
    })
  })
}

/** Runs a command with `--json` and returns its answer. Throws when it fails, or prints anything else. */
export async function darkroomJson<Answer>(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<Answer> {
  const { exitCode, stdout, stderr } = await runDarkroom([...args, '--json'], environment)
  if (exitCode !== 0 || stderr !== '')
    throw new Error(`darkroom ${args.join(' ')}: ${exitCode} ${stderr}`)
  const answer: Answer = JSON.parse(stdout)
  return answer
}

/**
 * Runs commands at once in this process, with the given environment, which takes a fraction of the CPU of
 * processes. Returns each command with what it printed and the seconds that it took.
 */
export async function runDarkroomHere(
  commands: readonly (readonly string[])[],
  environment: Readonly<Record<string, string>>,
) {
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value)
  try {
    return await Promise.all(commands.map(runHere))
  } finally {
    vi.unstubAllEnvs()
  }
}

/** Runs a command with `--json` in this process and returns its answer. Throws when it fails. */
export async function darkroomJsonHere<Answer>(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<Answer> {
  const [ran] = await runDarkroomHere([[...args, '--json']], environment)
  if (ran?.exitCode !== 0) throw new Error(`darkroom ${args.join(' ')}: ${ran?.stderr}`)
  const answer: Answer = JSON.parse(ran.stdout)
  return answer
}

async function runHere(args: readonly string[]) {
  const startedAt = performance.now()
  let [stdout, stderr] = ['', '']
  const exitCode = await operate(args, {
    out: (text) => void (stdout += text),
    err: (text) => void (stderr += text),
    isTerminal: false,
  })
  return { args, exitCode, stdout, stderr, seconds: (performance.now() - startedAt) / 1_000 }
}

function opened(): Promise<never> {
  return Promise.reject(new Error('a part was opened'))
}

/** A CLI whose every part throws when a command opens it, for tests of usage errors. */
export const closedContext: CliContext = {
  service: opened,
  database: opened,
  show: () => {},
  withProgress: (_text, work) => work(),
}
