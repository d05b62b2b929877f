import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { ConfigError } from '../config/configError.ts'
import type { Say } from './stack/startError.ts'
import { StartError } from './stack/startError.ts'

export type ServiceProcess = {
  /** Sends SIGTERM and waits for the end. Calls under way finish. */
  readonly stop: () => Promise<void>
  readonly kill: () => void
  /** The process id of the latest process. */
  readonly pid: () => number | undefined
}

export type ServiceProcessOptions = {
  readonly name: 'api' | 'worker'
  readonly environment: Readonly<Record<string, string>>
  readonly say: Say
  /** Called once, with the reason, when the process refuses its configuration. It is not started again. */
  readonly onRefused: (reason: string) => void
}

export type UntilReadyOptions = {
  /** The `/readyz` of each process, and its name for people. */
  readonly probes: readonly { readonly name: string; readonly url: string }[]
  /** Resolves, with the reason, when a process will not be started again. */
  readonly refused: Promise<string>
  readonly timeoutMs: number
}

const restartPauseMs = 1_000
/** The exit code of `src/wiring/runProcess.ts` for a wrong configuration. */
const refusedExitCode = 2
const pollMs = 100
/** Longer than the API and the worker wait for an answer of their own parts. */
const answerTimeoutMs = 5_000

/**
 * Runs `src/api.ts` or `src/worker.ts` as a process of its own, as production does, and starts it again when
 * it ends unasked. The process exits when its standard input closes, so a kill of this process ends it too.
 */
export function startServiceProcess(options: ServiceProcessOptions): ServiceProcess {
  const { name, environment, say, onRefused } = options
  const script = fileURLToPath(new URL(`../${name}.ts`, import.meta.url))
  let child: ChildProcess | undefined
  const stopped = new AbortController()

  const run = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      // The child stays in this process group, so that a kill of the group reaches it. With
      // --exit-with-parent it ignores Ctrl-C, and `stop` ends it in order.
      child = spawn(process.execPath, [script, '--exit-with-parent'], {
        env: environment,
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

/** Says how the process ended, or why it could not be started. */
function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve(`ended (${signal ?? `exit ${code ?? 0}`})`))
    child.on('error', (error) => {
      if (child.pid === undefined) resolve(`could not be started (${error.message})`)
    })
  })
}

/**
 * Polls until every process answers that it is ready. After `timeoutMs` it throws `StartError`, which lists
 * the parts that are not ready. When a process refuses its configuration it throws `ConfigError` at once.
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

/** Says what is wrong with one process. Returns `undefined` when it is ready. */
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

/** The parts that are not ok, as an internal `/readyz` lists them. The public `/readyz` lists no parts. */
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
