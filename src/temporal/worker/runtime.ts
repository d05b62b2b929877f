import type { LogLevel, LogMetadata, Logger, TelemetryOptions } from '@temporalio/worker'
import { Runtime } from '@temporalio/worker'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { assertNever } from '../../domain/assertNever.ts'
import { defined } from '../../domain/defined.ts'

export type WorkerLog = (
  level: 'debug' | 'info' | 'warn' | 'error',
  event: string,
  run: { readonly runId?: string },
) => void

/**
 * Configures the native part of Temporal's SDK. Call this once per process, before the first worker. The SDK
 * then handles no signals: our process decides when to stop, so that running upstream calls can finish first.
 * `metrics` exports the SDK's own metrics (slots, polls, latencies).
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

/**
 * SDK warnings about what is normal here: a queue without workflows, and a workflow that ends as Failed
 * because its Darkroom task failed. These are logged as `debug`.
 */
const expectedEvents = /^(?:No (?:workflows|Nexus services) registered|Workflow failed)/

/**
 * Returns a logger for the SDK. It writes to `log` only the name of each event and the id of its run. The
 * rest of the SDK's metadata is left out, because it can contain errors and payloads.
 */
export function loggerOf(log: WorkerLog): Logger {
  const at = (level: 'debug' | 'info' | 'warn' | 'error') => (event: string, meta?: LogMetadata) =>
    log(expectedEvents.test(event) ? 'debug' : level, event, runOf(meta))
  return {
    log: (level: LogLevel, event: string, meta?: LogMetadata) => at(ourLevel(level))(event, meta),
    trace: at('debug'),
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
  }
}

/**
 * Returns the id of the run. The SDK's TypeScript part writes `runId`, and its native part writes `run_id`.
 */
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
      return assertNever(level)
  }
}

const host = '127.0.0.1'
const answerMsMax = 1_000
/** How many free ports are tried. Another process can take a free port before the SDK listens on it. */
const portsTriedMax = 5

/**
 * Installs the runtime together with the metrics of its native part. The native part offers them only over HTTP, on
 * a port of its own, so it gets a free port of 127.0.0.1. Returns a function that fetches the metrics in
 * Prometheus' text format. The function returns an empty text when it fails.
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

/**
 * Names as Prometheus wants them: counters end in `_total`, names end in their unit, times are in seconds.
 */
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
