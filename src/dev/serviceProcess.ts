import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { ConfigError } from '../config/configError.ts'
import type { Say } from './stack/startError.ts'
import { StartError } from './stack/startError.ts'

const commonNodeFlags = ['--max-semi-space-size=4', '--v8-pool-size=1'] as const

/**
 * Flags of Node for an API and a worker. The Dockerfile and docker-compose.yml set the same.
 *
 * `--max-semi-space-size`: V8 uses up to three semi-spaces, so young objects get at most 12 MiB, and not the 48 MiB or
 * more that they get under load by default. The bytes of an image lie outside of the heap, and V8 frees them when it
 * collects their `Buffer`, which is a young object. With less room V8 collects more often, so these bytes are freed
 * sooner.
 *
 * `--v8-pool-size`: by default V8 has four threads beside the main one, which collect garbage and compile. On a machine
 * with two processors they keep the main thread from running, for 30 ms and more at a time under large bodies. With one
 * such thread it waits up to 12 ms, and a synchronous call costs 7 % less CPU time.
 *
 * `--heap-growing-percent`: after each full collection V8 decides how far the heap may grow until the next one. While
 * 100 MiB of bodies and images lie outside of the heap, it allows so little that it collects twice a second. With this
 * flag the heap always doubles. A worker, which has more such bytes under way, would take 25 MiB more memory with it.
 */
export const serviceNodeFlags = {
  api: [...commonNodeFlags, '--heap-growing-percent=100'],
  worker: commonNodeFlags,
} as const

/**
 * Variables for glibc's allocator. Each thread of the pool would otherwise keep freed memory for itself. Measured
 * under 20 calls of 1 MiB, with `serviceNodeFlags`: a worker takes 360 MiB and not 500, an API 200 MiB and not 310.
 */
export const serviceAllocator = { MALLOC_ARENA_MAX: '2' } as const

export type ServiceProcess = {
  /** Sends SIGTERM and waits until the process has ended. Running upstream calls finish first. */
  readonly stop: () => Promise<void>
  readonly kill: () => void
  /** Returns the process id of the newest process. */
  readonly pid: () => number | undefined
}

export type ServiceProcessOptions = {
  readonly name: 'api' | 'worker'
  readonly environment: Readonly<Record<string, string>>
  readonly say: Say
  /**
   * Called once when the process ends because its configuration is wrong. Such a process is not started
   * again.
   */
  readonly onRefused: (reason: string) => void
}

export type UntilReadyOptions = {
  /** The name of each process for people, and the URL of its `/readyz`. */
  readonly probes: readonly { readonly name: string; readonly url: string }[]
  /** Resolves to the reason when a process will not be started again. */
  readonly refused: Promise<string>
  readonly timeoutMs: number
}

const restartPauseMs = 1_000
/** The exit code of `src/wiring/runProcess.ts` when the configuration is wrong. */
const refusedExitCode = 2
const pollMs = 100
/** Limit for one answer of `/readyz`. Longer than the API process and the worker wait for their own parts. */
const answerTimeoutMs = 5_000

/**
 * Runs `src/api.ts` or `src/worker.ts` as a separate process, as in production. Starts it again whenever it
 * ends without being asked to. The process exits when its standard input closes. So it also ends when this
 * process is killed.
 */
export function startServiceProcess(options: ServiceProcessOptions): ServiceProcess {
  const { name, environment, say, onRefused } = options
  const script = fileURLToPath(new URL(`../${name}.ts`, import.meta.url))
  let child: ChildProcess | undefined
  const stopped = new AbortController()

  const run = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      // The child stays in this process group, so that a kill of the group reaches the child too. With
      // --exit-with-parent the child ignores Ctrl-C, so that `stop` can end the processes in order.
      child = spawn(process.execPath, [...serviceNodeFlags[name], script, '--exit-with-parent'], {
        env: { ...serviceAllocator, ...environment },
        stdio: ['pipe', 'inherit', 'inherit'],
      })
      const end = await endOf(child)
      if (stopped.signal.aborted) return
      if (child.exitCode === refusedExitCode) {
        onRefused(
          `The ${name} refuses its configuration, so it is not started again. Its message above says why.`,
        )
        return
      }
      say(`The ${name} ${end}; it is started again.`)
      await sleep(restartPauseMs)
    }
  }
  const running = run()

  return {
    stop: async () => {
      stopped.abort()
      child?.kill('SIGTERM')
      await running
    },
    kill: () => {
      stopped.abort()
      child?.kill('SIGKILL')
    },
    pid: () => child?.pid,
  }
}

/** Resolves when the process ends, to a text that says how. If it could not be started, the text says why. */
function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve(`ended (${signal ?? `exit ${code ?? 0}`})`))
    child.on('error', (error) => {
      if (child.pid === undefined) resolve(`could not be started (${error.message})`)
    })
  })
}

/**
 * Asks every process again and again until all are ready. After `timeoutMs`, throws `StartError`, which lists
 * the parts that are not ready. When a configuration is wrong, throws `ConfigError` at once.
 */
export async function untilReady(options: UntilReadyOptions): Promise<void> {
  const { probes, refused, timeoutMs } = options
  const endsAtMs = performance.now() + timeoutMs
  for (;;) {
    const faults = (await Promise.all(probes.map(faultOf))).filter((fault) => fault !== undefined)
    if (faults.length === 0) return
    const refusal = await Promise.race([refused, sleep(pollMs, undefined)])
    if (refusal !== undefined) throw new ConfigError(refusal)
    if (performance.now() > endsAtMs) {
      const list = faults.map((fault) => `- ${fault}`).join('\n')
      throw new StartError(`Darkroom was not ready within ${timeoutMs / 1000} s:\n${list}`)
    }
  }
}

/** Returns what is wrong with one process, or `undefined` when the process is ready. */
async function faultOf({
  name,
  url,
}: UntilReadyOptions['probes'][number]): Promise<string | undefined> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(answerTimeoutMs) })
    const text = await answer.text()
    return answer.ok ? undefined : `${name}: ${faultyParts(text) ?? `answers ${answer.status}`}`
  } catch {
    return `${name} does not answer at ${url}`
  }
}

const answerSchema = z.object({ parts: z.record(z.string(), z.string()) })

/**
 * Returns the parts that are not ok in the answer of an internal `/readyz`. The public `/readyz` lists no
 * parts.
 */
function faultyParts(text: string): string | undefined {
  const faulty = Object.entries(partsIn(text)).filter(([, state]) => state !== 'ok')
  if (faulty.length === 0) return undefined
  return faulty.map(([part, state]) => `${part} is ${state}`).join(', ')
}

function partsIn(text: string): Readonly<Record<string, string>> {
  try {
    return answerSchema.safeParse(JSON.parse(text)).data?.parts ?? {}
  } catch {
    return {}
  }
}
