import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export type CliRun = {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

const script = fileURLToPath(new URL('../../src/cli.ts', import.meta.url))
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
