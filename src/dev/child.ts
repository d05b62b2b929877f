import { closeSync, mkdirSync, openSync, readFileSync, renameSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ConfigError } from '../config/configError.ts'
import type { Program } from './command.ts'
import { spawnBound, StartError } from './command.ts'
import type { Say, Show } from './terminal.ts'

/** A part of the service that runs as a process of its own, and how it is ended. */
export type Part = Program & {
  /** The name of the part in messages. */
  readonly name: string
  /**
   * The name of its log in DATA_DIR/logs. Without one, its output goes where the output of this process goes.
   */
  readonly log?: string
  /**
   * Whether the part is a process of Darkroom. Its exit code 2 means a wrong configuration, and its calls are paid for, so
   * its end is awaited without limit. Other parts get SIGKILL after `stopGraceMs`.
   */
  readonly isOurs?: boolean
  /** The longest pause before it is started again. Default: half a minute. */
  readonly pauseMsMax?: number
  /** Asks the part whether it is ready. Returns what is wrong, or `undefined`. Called again and again. */
  readonly faultOf: () => Promise<string | undefined>
}

/** What all parts of one start share. */
export type Launch = {
  /** Absolute path of the folder that contains everything that is stored. */
  readonly dataDir: string
  /**
   * The file descriptor of the lock of DATA_DIR. Each part keeps it open as long as it runs: see `lockFile`.
   */
  readonly lockFd: number
  readonly say: Say
  readonly show: Show
  /** Aborted when everything is told to end: no part starts any more. */
  readonly stopping: AbortSignal
  /** Every started part, in the order of their start. */
  readonly children: Child[]
}

/** A part that is started again whenever it ends without being asked to. */
export type Child = {
  /** Resolves to a message when the part refuses its configuration. It is then not started again. */
  readonly refused: Promise<string>
  /** Asks the part to end, and resolves when it has ended. */
  readonly stop: () => Promise<void>
}

const restartPauseMsMin = 1_000
const restartPauseMsMax = 30_000
const readyPollMs = 50
/** A larger log is renamed at the next start. Only one older log is kept. */
const logBytesMax = 16 * 1024 * 1024
/** Long enough for crash recovery of PostgreSQL after a kill. */
const readyTimeoutMs = 120_000
const stopGraceMs = 15_000
const tailLinesMax = 12

/**
 * Starts a part, waits until it is ready, and from then on keeps it running. The pause before a start doubles
 * with every process that ends quickly. Throws `ConfigError` when the part refuses its configuration, and
 * `StartError` with the last lines of its log when it ends in another way or is not ready in time. Throws too when
 * everything is told to end.
 */
export async function startChild(part: Part, launch: Launch): Promise<void> {
  launch.stopping.throwIfAborted()
  const logPath = part.log && join(launch.dataDir, 'logs', `${part.log}.log`)
  const refusal =
    `${part.name} refuses its configuration, so it is not started again. ` +
    'Its message above says why.'
  const isRefusal = (end: string | undefined) => part.isOurs === true && end === 'exit 2'
  const refused = Promise.withResolvers<string>()
  const stopped = new AbortController()
  let current = spawnPart()
  let kept: Promise<void> | undefined

  const stop = async (): Promise<void> => {
    stopped.abort()
    current.kill(part.endSignal ?? 'SIGTERM')
    const endNow = () => current.kill('SIGKILL')
    const timer = part.isOurs === true ? undefined : setTimeout(endNow, stopGraceMs)
    await current.ended
    await kept
    clearTimeout(timer)
  }
  launch.children.push({ refused: refused.promise, stop })

  const failure = await untilReady()
  if (failure !== undefined) {
    if (isRefusal(current.end())) throw new ConfigError(refusal)
    throw new StartError(`${part.name} ${failure}.${logTail(logPath)}`)
  }
  kept = keepRunning()

  /** The process gets a group of its own, so that Ctrl-C reaches the starting process alone. */
  function spawnPart() {
    const log = logPath === undefined ? 'inherit' : openLog(logPath)
    // The API and the worker end themselves too when their standard input closes.
    const spawned = spawnBound(part, {
      stdio: ['pipe', log, log, launch.lockFd],
      detached: true,
    })
    if (log !== 'inherit') closeSync(log)
    return spawned
  }

  /** Returns why the part will not be ready, or `undefined` when it is. */
  async function untilReady(): Promise<string | undefined> {
    const endsAtMs = performance.now() + readyTimeoutMs
    for (;;) {
      const fault = await Promise.race([part.faultOf(), current.ended])
      if (fault === undefined) return undefined
      if (current.end() !== undefined) return `ended at its start (${current.end()})`
      if (performance.now() > endsAtMs) {
        return `was not ready within ${readyTimeoutMs / 1000} s: ${fault}`
      }
      await sleep(readyPollMs)
    }
  }

  async function keepRunning(): Promise<void> {
    let pauseMs = restartPauseMsMin
    for (;;) {
      const startedAtMs = performance.now()
      const end = await current.ended
      if (stopped.signal.aborted) return
      if (isRefusal(end)) return refused.resolve(refusal)
      if (performance.now() - startedAtMs > restartPauseMsMax) pauseMs = restartPauseMsMin
      launch.say(`${part.name} ended unexpectedly (${end}): starting it again.`)
      await sleep(pauseMs, undefined, { signal: stopped.signal }).catch(() => undefined)
      if (stopped.signal.aborted) return
      pauseMs = Math.min(pauseMs * 2, part.pauseMsMax ?? restartPauseMsMax)
      current = spawnPart()
    }
  }
}

/** Returns what is wrong with a server, or `undefined` when it answers with 200. */
export async function httpFault(url: string, timeoutMs: number): Promise<string | undefined> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) })
    const text = await answer.text()
    return answer.ok ? undefined : `${url} answers ${answer.status} ${text}`
  } catch {
    return `${url} does not answer`
  }
}

/** Opens a log for appending and returns its file descriptor. The caller must close it. */
function openLog(path: string): number {
  mkdirSync(dirname(path), { recursive: true })
  const sizeBytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (sizeBytes > logBytesMax) renameSync(path, `${path}.1`)
  return openSync(path, 'a', 0o600)
}

/** Returns the last lines of a log as the end of a message. Returns an empty text when there is no log. */
function logTail(path: string | undefined): string {
  if (path === undefined) return ''
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n').slice(-tailLinesMax)
  return ` The end of ${path}:\n${lines.join('\n')}`
}
