import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

export type ServiceProcess = {
  /** SIGTERM, then waits for the end: calls in flight finish. */
  readonly stop: () => Promise<void>
  readonly kill: () => void
  readonly pid: () => number | undefined
}

export type ServiceProcessOptions = {
  readonly name: 'api' | 'worker'
  readonly environment: Readonly<Record<string, string>>
  readonly say: (line: string) => void
  /** Told once, and why, when the process refuses its configuration: it would do so again and again. */
  readonly onRefused: (reason: string) => void
}

const restartDelayMs = 1_000
/** Of `src/wiring/runProcess.ts`: wrong configuration. */
const refusedExitCode = 2

/**
 * Runs `src/api.ts` or `src/worker.ts` as a process of its own, as production does, and starts it again
 * should it die, but not when it refuses its configuration. It reads from a pipe that closes with us, so that a kill -9 of ours leaves no orphan.
 */
export function startServiceProcess(options: ServiceProcessOptions): ServiceProcess {
  const { name, environment, say, onRefused } = options
  const script = fileURLToPath(new URL(`../${name}.ts`, import.meta.url))
  let child: ChildProcess | undefined
  const stopped = new AbortController()

  const run = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      child = spawn(process.execPath, [script, '--exit-with-parent'], {
        env: { ...environment },
        stdio: ['pipe', 'inherit', 'inherit'],
      })
      // A group of its own would outlive a kill of ours; in ours, Ctrl-C reaches it too and is ignored there.
      const end = await endOf(child)
      if (stopped.signal.aborted) return
      if (child.exitCode === refusedExitCode) {
        onRefused(
          `The ${name} refuses its configuration, so it is not started again: it has said why above.`,
        )
        return
      }
      say(`The ${name} ${end}; it is started again.`)
      await sleep(restartDelayMs)
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

/** How the process ended, by signal or exit code; or why there never was one (no memory, no more processes). */
function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve(`ended (${signal ?? `exit ${code ?? 0}`})`))
    child.on('error', (error) => {
      if (child.pid === undefined) resolve(`could not be started (${error.message})`)
    })
  })
}
