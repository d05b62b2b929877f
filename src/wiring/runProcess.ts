import type { Config } from '../config.ts'
import { readConfig } from '../config.ts'
import { ConfigError } from '../config/configError.ts'
import type { Logger } from '../telemetry/logger.ts'
import { createLogger } from '../telemetry/logger.ts'

export type RunningProcess = {
  /** Rejects when the process can no longer do its work. */
  readonly ended: Promise<void>
  /**
   * Takes no new work, waits for the work under way, and closes. An API first reports that it is not
   * ready, and goes on serving for `noticeMs`, so that load balancers stop sending requests to it.
   */
  readonly stop: (noticeMs: number) => Promise<void>
}

/** Load balancers probe every few seconds. `docker stop` kills after 10 s. */
const noticeMs = 5_000

/**
 * Runs one process: reads the configuration, starts, and stops on SIGTERM or SIGINT; a second signal
 * ends it at once. Exit codes: 0 stopped, 1 could not start or failed, 2 wrong configuration.
 */
export async function runProcess(
  name: 'api' | 'worker',
  start: (config: Config, log: Logger) => Promise<RunningProcess>,
): Promise<void> {
  let config: Config
  try {
    config = readConfig()
  } catch (error) {
    return exitOn(error)
  }
  const pretty = process.stdout.isTTY
  const log = createLogger({ level: config.logLevel, process: name, pretty })
  process.on('unhandledRejection', (error) => log.error('unhandled rejection', { error }))
  try {
    const running = await start(config, log)
    stopOnSignal(running, log)
    exitWithParent()
    await running.ended
  } catch (error) {
    log.error(`${name} failed`, { error })
    exitOn(error)
  }
}

function stopOnSignal(running: RunningProcess, log: Logger): void {
  let signals = 0
  const stop = (signal: string) => {
    signals += 1
    if (signals > 1) process.exit(1)
    log.info('stopping', { reason: signal })
    // `npm start` runs without a load balancer.
    running.stop(hasParent() ? 0 : noticeMs).then(
      () => process.exit(0),
      (error: unknown) => {
        log.error('stop failed', { error })
        process.exit(1)
      },
    )
  }
  process.on('SIGTERM', () => stop('SIGTERM'))
  // Ctrl-C in a terminal sends SIGINT to the whole process group. Under `npm start` the parent decides
  // when its children stop, and sends SIGTERM.
  process.on('SIGINT', () => {
    if (!hasParent()) stop('SIGINT')
  })
}

/** Whether `npm start` started this process: standard input is a pipe that closes with the parent. */
function hasParent(): boolean {
  return process.argv.includes('--exit-with-parent')
}

/** A killed parent ends the embedded database too, and its successor needs this process's ports. */
function exitWithParent(): void {
  if (!hasParent()) return
  process.stdin.on('close', () => process.exit(1))
  process.stdin.resume()
}

/** Writes the message to standard error. The log has the error without its message. */
function exitOn(error: unknown): void {
  const message = error instanceof Error ? error.message : 'failed'
  process.stderr.write(`${message}\n`)
  process.exit(error instanceof ConfigError ? 2 : 1)
}
