import { spawn } from 'node:child_process'
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { until } from '../timing.ts'

export type TestProcess = Omit<ReturnType<typeof spawnTestProcess>, 'ready'>

type SpawnOptions = {
  /** The path of its script below the checkout. */
  readonly script: string
  /** The folder of the checkout. Default: this one. */
  readonly checkout?: string | undefined
  readonly args?: readonly string[]
  readonly nodeFlags?: readonly string[]
  /** What is run in place of the script, such as a terminal that runs it. */
  readonly command?: readonly string[]
  /** Its variables, beside PATH, HOME and the cache of compiled code. */
  readonly environment: Readonly<Record<string, string>>
  /** The file that receives standard output and error. */
  readonly logPath: string
}

export type TestProcessOptions = SpawnOptions & {
  /** How messages call the process. */
  readonly name: string
  /** Answers 200 when the process is ready. */
  readonly readyUrl: string
}

/** The folder of this checkout. */
export const ownCheckout = fileURLToPath(new URL('../../..', import.meta.url))
const startMsMax = 90_000
const stopMsMax = 20_000

/** Starts a process and waits until it is ready. Throws with its output when it ends before. */
export async function startTestProcess(options: TestProcessOptions): Promise<TestProcess> {
  const started = spawnTestProcess(options)
  await started.ready(options.name, startMsMax, async () => {
    const answer = await fetch(options.readyUrl).catch(() => undefined)
    await answer?.body?.cancel()
    return answer?.ok === true
  })
  return started
}

/** Starts a process. `ready` waits until it is, and kills it when it is not in time. */
export function spawnTestProcess(options: SpawnOptions) {
  const { script, checkout = ownCheckout, args = [], nodeFlags = [] } = options
  const { environment, logPath } = options
  const log = openSync(logPath, 'a', 0o600)
  // An earlier process may have written to the same file.
  const { size: outputFrom } = fstatSync(log)
  const ofScript = [process.execPath, ...nodeFlags, join(checkout, script), ...args]
  const [file = '', ...line] = options.command ?? ofScript
  const child = spawn(file, line, {
    env: { ...inherited(), ...environment },
    // Standard input is a pipe: with --exit-with-parent an API or a worker ends when this process is killed.
    stdio: ['pipe', log, log],
  })
  closeSync(log)
  /** Standard output and error so far. */
  const output = () => readFileSync(logPath).subarray(outputFrom).toString()
  let exited = false
  /** Resolves with the exit code or the signal's name. */
  const ended = new Promise<number | string>((resolve) => {
    const end = (how: number | string) => {
      exited = true
      resolve(how)
    }
    child.once('error', (error) => end(error.message))
    child.once('exit', (code, signal) => end(signal ?? code ?? 0))
  })
  /** Sends SIGTERM, and SIGKILL after `graceMs`. */
  const stop = async (graceMs = stopMsMax) => {
    const timer = setTimeout(() => child.kill('SIGKILL'), graceMs)
    child.kill('SIGCONT')
    child.kill('SIGTERM')
    await ended
    clearTimeout(timer)
  }
  const ready = async (
    name: string,
    limitMs: number,
    isReady: () => boolean | Promise<boolean>,
  ) => {
    const look = async () => {
      if (exited) throw new Error(`${name} ended during its start (${await ended})`)
      return (await isReady()) || undefined
    }
    await until(`${name} is ready`, look, limitMs).catch((error: unknown) => {
      child.kill('SIGKILL')
      throw new Error(`${String(error)}\n${output()}`)
    })
  }
  const signal = (name: NodeJS.Signals): void => void child.kill(name)
  return { pid: child.pid ?? 0, output, signal, ended, stop, ready }
}

/** The variables of this process that every process needs. */
function inherited(): Readonly<Record<string, string>> {
  const names = ['PATH', 'HOME', 'XDG_CACHE_HOME', 'NODE_COMPILE_CACHE']
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = process.env[name]
      return value === undefined ? [] : [[name, value]]
    }),
  )
}
