import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { vi } from 'vitest'
import type { CliContext } from '../../../src/cli/cliContext.ts'
import { operate } from '../../../src/wiring/cliProcess.ts'

export type CliRun = {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
  readonly seconds: number
}

type Environment = Readonly<Record<string, string>>

const script = fileURLToPath(new URL('../../../src/cli.ts', import.meta.url))
const timeoutMs = 20_000

/**
 * Runs `darkroom ARGS` in this process with the given environment, which takes a fraction of the CPU of a process.
 * Commands that run at the same time share an environment: one with another environment waits.
 */
export function runDarkroom(args: readonly string[], environment: Environment): Promise<CliRun> {
  return withEnvironment(environment, async () => {
    const startedAt = performance.now()
    let [stdout, stderr] = ['', '']
    const exitCode = await operate(args, {
      out: (text) => void (stdout += text),
      err: (text) => void (stderr += text),
      isTerminal: false,
    })
    return { exitCode, stdout, stderr, seconds: (performance.now() - startedAt) / 1_000 }
  })
}

/** Runs commands at once. Returns each command with what it printed. */
export function runCommands(commands: readonly (readonly string[])[], environment: Environment) {
  return Promise.all(
    commands.map(async (args) => ({ args, ...(await runDarkroom(args, environment)) })),
  )
}

/** Runs a command with `--json` and returns its answer. Throws when it fails, or prints anything else. */
export async function darkroomJson<Answer>(
  args: readonly string[],
  environment: Environment,
): Promise<Answer> {
  const { exitCode, stdout, stderr } = await runDarkroom([...args, '--json'], environment)
  if (exitCode !== 0 || stderr !== '')
    throw new Error(`darkroom ${args.join(' ')}: ${exitCode} ${stderr}`)
  const answer: Answer = JSON.parse(stdout)
  return answer
}

/** Runs `darkroom ARGS` as a process with only the given environment. Rejects when it fails. */
export function darkroomProcess(
  args: readonly string[],
  environment: Environment,
): Promise<string> {
  const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], ...environment }
  return new Promise((resolve, reject) => {
    const options = { env, timeout: timeoutMs, encoding: 'utf8' } as const
    execFile(process.execPath, [script, ...args], options, (error, stdout) =>
      error === null ? resolve(stdout) : reject(error),
    )
  })
}

const stubbed = { environment: '', users: 0 }
const lookMs = 10

async function withEnvironment<Value>(
  environment: Environment,
  work: () => Promise<Value>,
): Promise<Value> {
  const wanted = JSON.stringify(environment)
  while (stubbed.users > 0 && stubbed.environment !== wanted) await sleep(lookMs)
  stubbed.environment = wanted
  stubbed.users += 1
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value)
  try {
    return await work()
  } finally {
    stubbed.users -= 1
    if (stubbed.users === 0) vi.unstubAllEnvs()
  }
}

function opened(): never {
  throw new Error('a part was opened')
}

/** A CLI whose every part throws when a command opens it, for tests of usage errors. */
export const closedContext: CliContext & { readonly installation: () => string } = {
  installation: opened,
  service: opened,
  operator: opened,
  show: () => {},
  withProgress: (_text, work) => work(),
}
