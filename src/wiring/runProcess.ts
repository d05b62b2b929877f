import { flushCompileCache } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config/environment.ts'
import { inheritedEnvironment, readConfig } from '../config/environment.ts'
import { ConfigError } from '../config/configError.ts'
import type { Logger } from '../telemetry/logger.ts'
import { createLogger } from '../telemetry/logger.ts'

export type RunningProcess = {
  /** Rejects when the process cannot continue its work. */
  readonly ended: Promise<void>
  /** Limit for the stop after that. Calls under way are paid for and finish first. Absent: `ended` never rejects. */
  readonly failedStopMsMax?: number
  /**
   * Takes no new work, waits for the work under way, and closes. An API process first reports that it is not
   * ready and continues to serve for `noticeMs`. In this time load balancers stop sending requests to it.
   */
  readonly stop: (noticeMs: number) => Promise<void>
}

/**
 * How long a stopping API process still serves. Long enough for a load balancer to probe once more, and
 * shorter than the 10 s after which `docker stop` kills the process.
 */
const noticeMs = 5_000
/** How long a process that is still starting waits for its start before it stops. */
const startedStopMsMax = 10_000

/**
 * Whether `npm start` started this process. If it did, standard input is a pipe that closes when the parent ends, and
 * there is no load balancer to wait for.
 */
export const hasParent = process.argv.includes('--exit-with-parent')

/**
 * Runs one process: reads the configuration, starts, and stops on SIGTERM or SIGINT. A second signal ends the
 * process at once. The exit code is 0 after a stop, 1 if the process could not start or failed, and 2 for a
 * wrong configuration.
 */
export async function runProcess(
  name: 'api' | 'worker' | 'admin',
  start: (config: Config, log: Logger) => Promise<RunningProcess>,
): Promise<void> {
  let log: Logger | undefined
  try {
    const config = readConfig(inheritedEnvironment(), name)
    const made = createLogger({
      level: config.logLevel,
      process: name,
      pretty: process.stdout.isTTY,
    })
    log = made
    process.on('unhandledRejection', (error) => made.error('unhandled rejection', { error }))
    const starting = start(config, made)
    let stopped: Promise<void> | undefined
    // Each further call waits for the same stop.
    const stop = (ms: number) => (stopped ??= stopStarted(starting, ms))
    // A worker may take tasks before its start is over, so a signal must never simply end the process.
    stopOnSignal(stop, made)
    exitWithParent()
    const running = await starting
    // A process that is killed would leave nothing in the compile cache for the next one.
    flushCompileCache()
    await running.ended.catch(async (error: unknown) => {
      made.error('stopping', { reason: `${name} failed`, error })
      await Promise.race([stop(0), sleep(running.failedStopMsMax)]).catch(() => {})
      throw error
    })
  } catch (error) {
    log?.error(`${name} failed`, { error })
    // The log contains the error without its message.
    process.stderr.write(`${error instanceof Error ? error.message : 'failed'}\n`)
    process.exit(error instanceof ConfigError ? 2 : 1)
  }
}

async function stopStarted(starting: Promise<RunningProcess>, ms: number): Promise<void> {
  const running = await Promise.race([starting, sleep(startedStopMsMax)])
  await running?.stop(ms)
}

function stopOnSignal(stopProcess: RunningProcess['stop'], log: Logger): void {
  let signals = 0
  const stop = (signal: string) => {
    signals += 1
    if (signals > 1) process.exit(1)
    log.info('stopping', { reason: signal })
    stopProcess(hasParent ? 0 : noticeMs).then(
      () => process.exit(0),
      (error: unknown) => {
        log.error('stop failed', { error })
        process.exit(1)
      },
    )
  }
  process.on('SIGTERM', () => stop('SIGTERM'))
  // Ctrl-C in a terminal sends SIGINT to the parent and its children. With `npm start`, the parent decides
  // when its children stop, and sends them SIGTERM. So ignore SIGINT there.
  process.on('SIGINT', () => {
    if (!hasParent) stop('SIGINT')
  })
}

/**
 * Ends this process when its parent ends. If the parent is killed, the embedded database ends too, and the
 * next `npm start` needs the ports of this process. The process kills itself, because `process.exit` would first
 * write the last lines of the log: to a pipe that nobody reads any more, pino tries this for ever.
 */
function exitWithParent(): void {
  if (!hasParent) return
  process.stdin.on('close', () => process.kill(process.pid, 'SIGKILL'))
  process.stdin.resume()
}
