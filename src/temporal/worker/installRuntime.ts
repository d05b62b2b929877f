import type { LogLevel, LogMetadata, Logger, TelemetryOptions } from '@temporalio/worker'
import { Runtime } from '@temporalio/worker'

export type WorkerLog = (
  level: 'debug' | 'info' | 'warn' | 'error',
  event: string,
  run: { readonly runId?: string },
) => void

/**
 * Configures the SDK's native part, once per process and before the first worker. It takes no signals:
 * the process decides when to stop, and calls in flight finish first. `metrics` exports the SDK's own
 * numbers (slots, polls, latencies).
 */
export function installRuntime(options: {
  readonly log: WorkerLog
  readonly metrics?: NonNullable<TelemetryOptions['metrics']>
}): void {
  const { metrics } = options
  Runtime.install({
    logger: loggerOf(options.log),
    shutdownSignals: [],
    telemetryOptions: {
      logging: { filter: { core: 'WARN', other: 'ERROR' }, forward: {} },
      ...(metrics === undefined ? {} : { metrics }),
    },
  })
}

/** Queues without workflows, and tasks that fail as Failed workflows, are as they should be. */
const byDesign = /^(?:No (?:workflows|Nexus services) registered|Workflow failed)/

/**
 * The SDK's events by name, and the run that they are of. The rest of its metadata holds errors and
 * payloads, so it is left out of our log.
 */
export function loggerOf(log: WorkerLog): Logger {
  const at = (level: 'debug' | 'info' | 'warn' | 'error') => (event: string, meta?: LogMetadata) =>
    log(byDesign.test(event) ? 'debug' : level, event, runOf(meta))
  return {
    log: (level: LogLevel, event: string, meta?: LogMetadata) => at(ourLevel(level))(event, meta),
    trace: at('debug'),
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
  }
}

/** The SDK's two halves spell it differently. */
function runOf(meta: LogMetadata = {}): { readonly runId?: string } {
  const runId: unknown = meta['runId'] ?? meta['run_id']
  return typeof runId === 'string' ? { runId } : {}
}

function ourLevel(level: LogLevel): 'debug' | 'info' | 'warn' | 'error' {
  switch (level) {
    case 'TRACE':
    case 'DEBUG':
      return 'debug'
    case 'INFO':
      return 'info'
    case 'WARN':
      return 'warn'
    case 'ERROR':
      return 'error'
    default:
      return level satisfies never
  }
}
