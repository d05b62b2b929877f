import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { serviceAllocator, serviceNodeFlags } from '../../../src/dev/environment.ts'
import { until } from '../timing.ts'

/** One real API or worker process. */
export type DarkroomProcess = {
  readonly name: 'api' | 'worker'
  readonly pid: number
  readonly url: string
  /** Standard output and error so far. */
  readonly output: () => string
  readonly signal: (signal: NodeJS.Signals) => void
  /** Resolves with the exit code or the signal's name. */
  readonly ended: Promise<number | string>
  /** Sends SIGTERM, and SIGKILL after `graceMs`. */
  readonly stop: (graceMs?: number) => Promise<void>
}

/** Starts `src/NAME.ts` and waits until `readyUrl` returns 200. Throws with the output when the process ends before. */
export async function startDarkroomProcess(options: {
  readonly name: 'api' | 'worker'
  readonly environment: Readonly<Record<string, string>>
  readonly url: string
  readonly readyUrl: string
  /**
   * Starts it as in production, so that it tells load balancers before it stops. It then does not end with
   * the test process: the test must stop it in every case.
   */
  readonly alone?: boolean
}): Promise<DarkroomProcess> {
  const { name, environment, url, readyUrl, alone = false } = options
  const script = fileURLToPath(new URL(`../../../src/${name}.ts`, import.meta.url))
  // With this flag the process ends when its standard input closes, which also happens when this process is killed.
  const args = [...serviceNodeFlags[name], script, ...(alone ? [] : ['--exit-with-parent'])]
  const child = spawn(process.execPath, args, {
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      ...serviceAllocator,
      ...environment,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const chunks: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk))
  const output = () => Buffer.concat(chunks).toString('utf8')
  let exited = false
  const ended = new Promise<number | string>((resolve) => {
    child.once('exit', (code, signal) => {
      exited = true
      resolve(signal ?? code ?? 0)
    })
  })
  await until(
    `${name} ready at ${readyUrl}`,
    async () => {
      if (exited) throw new Error(`${name} ended during its start:\n${output()}`)
      const answer = await fetch(readyUrl).catch(() => undefined)
      await answer?.body?.cancel()
      return answer?.ok === true ? true : undefined
    },
    45_000,
  ).catch((error: unknown) => {
    child.kill('SIGKILL')
    throw new Error(`${String(error)}\n${output()}`)
  })
  return {
    name,
    pid: child.pid ?? 0,
    url,
    output,
    signal: (signal) => void child.kill(signal),
    ended,
    stop: (graceMs = 20_000) => stop(child, ended, graceMs),
  }
}

async function stop(
  child: ChildProcess,
  ended: Promise<number | string>,
  graceMs: number,
): Promise<void> {
  const timer = setTimeout(() => child.kill('SIGKILL'), graceMs)
  child.kill('SIGCONT')
  child.kill('SIGTERM')
  await ended
  clearTimeout(timer)
}
