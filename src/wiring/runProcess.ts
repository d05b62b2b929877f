import type { Config } from '../config.ts'
import { readConfig } from '../config.ts'
import { ConfigError } from '../config/configError.ts'
import type { Logger } from '../telemetry/logger.ts'
import { createLogger } from '../telemetry/logger.ts'

export type RunningProcess = {
  /** Rejects when the process can no longer do its work. */
  readonly ended: Promise<void>
  /**
   * Takes no new work and lets what is under way finish. What others send work to says that it is not
   * ready and goes on serving for `noticeMs` before, so that they see it.
   */
  readonly stop: (noticeMs: number) => Promise<void>
}

/** A balancer asks every few seconds; `docker stop` waits 10 s. */
const noticeMs = 5_000

/**
 * The life of one process: read the configuration, start, stop on SIGTERM or SIGINT, at once on the
 * second. Exit codes: 0 stopped, 1 could not start or broke, 2 wrong configuration.
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
  let asked = 0
  const stop = (signal: string) => {
    asked += 1
    if (asked > 1) process.exit(1)
    log.info('stopping', { reason: signal })
    // `npm start` has no balancer before it.
    running.stop(hasParent() ? 0 : noticeMs).then(
      () => process.exit(0),
      (error: unknown) => {
        log.error('stop failed', { error })
        process.exit(1)
      },
    )
  }
  process.on('SIGTERM', () => stop('SIGTERM'))
  // Under a parent of ours Ctrl-C reaches the whole group: the parent says when, by SIGTERM.
  process.on('SIGINT', () => {
    if (!hasParent()) stop('SIGINT')
  })
}

/** Started by `npm start`: standard input is a pipe that closes when the parent is gone, however. */
function hasParent(): boolean {
  return process.argv.includes('--exit-with-parent')
}

/** A parent that was killed took the database along; our ports are wanted by its successor. */
function exitWithParent(): void {
  if (!hasParent()) return
  process.stdin.on('close', () => process.exit(1))
  process.stdin.resume()
}

/** The sentence alone, for whoever started us: the log has the error without its text. */
function exitOn(error: unknown): void {
  const message = error instanceof Error ? error.message : 'failed'
  process.stderr.write(`${message}\n`)
  process.exit(error instanceof ConfigError ? 2 : 1)
}
