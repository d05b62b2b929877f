import type { LogLevel, LogMetadata, Logger, TelemetryOptions } from '@temporalio/worker'
import { Runtime } from '@temporalio/worker'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { defined } from '../../domain/defined.ts'

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
      ...defined({ metrics }),
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

const host = '127.0.0.1'
const answerMsMax = 1_000
/** Between finding a free port and taking it, somebody else may. */
const portsTriedMax = 5

/**
 * Installs the runtime with the metrics of its native part (slots, polls, latencies). It can only serve
 * them itself, so it does on a free port of 127.0.0.1; what is answered fetches their text, and an empty
 * one while it cannot be had.
 */
export async function installMeasuredRuntime(log: WorkerLog): Promise<() => Promise<string>> {
  for (let tried = 1; ; tried += 1) {
    const bindAddress = `${host}:${await freePort()}`
    try {
      installRuntime({ log, metrics: { prometheus: { bindAddress, ...names } } })
      return () => fetchText(`http://${bindAddress}/metrics`)
    } catch (error) {
      if (tried >= portsTriedMax) throw error
    }
  }
}

/** As Prometheus' own rules ask for: counters end in `_total`, units in the name, seconds. */
const names = { countersTotalSuffix: true, unitSuffix: true, useSecondsForDurations: true } as const

async function fetchText(url: string): Promise<string> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(answerMsMax) })
    return answer.ok ? await answer.text() : ''
  } catch {
    return ''
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, host)
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('Bug: no TCP address')
  return address.port
}
