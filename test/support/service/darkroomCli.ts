import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Parts } from '../../../src/cli/context.ts'

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

/** Runs a command with `--json` and returns its answer. Throws with its standard error when it fails. */
export async function darkroomJson<Answer>(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<Answer> {
  const { exitCode, stdout, stderr } = await runDarkroom([...args, '--json'], environment)
  if (exitCode !== 0) throw new Error(`darkroom ${args.join(' ')}: ${exitCode} ${stderr}`)
  const answer: Answer = JSON.parse(stdout)
  return answer
}

function opened(): Promise<never> {
  return Promise.reject(new Error('a part was opened'))
}

/** Parts of the CLI that throw when a command opens them, for tests of usage errors. */
export const closedParts: Parts = {
  migrate: opened,
  accounts: opened,
  issueKey: opened,
  setBudget: opened,
  verifyLedger: opened,
  tasks: opened,
  retryTask: opened,
  cancelTask: opened,
  capabilities: opened,
  channels: opened,
  webhooks: opened,
  checkChannel: opened,
  assetUrl: opened,
  fetchHistory: opened,
  replayTask: opened,
  workflowUrl: opened,
}
