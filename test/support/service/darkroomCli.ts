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

/** Runs `darkroom ARGS` as a process of its own, with no environment but the given one. */
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

/** The answer of a command run with `--json`; fails with what it said when it was not done. */
export async function darkroomJson<Answer>(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<Answer> {
  const { exitCode, stdout, stderr } = await runDarkroom([...args, '--json'], environment)
  if (exitCode !== 0) throw new Error(`darkroom ${args.join(' ')}: ${exitCode} ${stderr}`)
  const answer: Answer = JSON.parse(stdout)
  return answer
}

const opened = () => Promise.reject(new Error('a part was opened'))

/** Parts of the CLI that nobody may open: usage is judged before. */
export const closedParts: Parts = {
  migrate: opened,
  accounts: opened,
  issueKey: opened,
  verifyLedger: opened,
  tasks: opened,
  retryTask: opened,
  cancelTask: opened,
  capabilities: opened,
  channels: opened,
  assetUrl: opened,
  fetchHistory: opened,
  replayTask: opened,
  workflowUrl: opened,
}
