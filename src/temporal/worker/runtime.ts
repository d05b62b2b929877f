import type { LogEntry, TelemetryOptions } from '@temporalio/worker'
import { DefaultLogger, Runtime } from '@temporalio/worker'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { defined } from '../../domain/defined.ts'

export type WorkerLog = (
  level: 'debug' | 'warn' | 'error',
  event: string,
  run: { readonly runId?: string },
) => void

/**
 * Configures the native part of Temporal's SDK. Call this once per process, before the first worker. The SDK
 * then handles no signals: our process decides when to stop, so that running upstream calls can finish first.
 * `metrics` exports the SDK's own metrics (slots, polls, latencies).
 */
export function installRuntime(
  log: WorkerLog,
  metrics?: NonNullable<TelemetryOptions['metrics']>,
): void {
  Runtime.install({
    logger: loggerOf(log),
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
 * rest of the SDK's metadata is left out, because it can contain errors and payloads. What the SDK logs at level
 * info, such as each change of its state, has level debug.
 */
export function loggerOf(log: WorkerLog): DefaultLogger {
  return new DefaultLogger('TRACE', ({ level, message, meta }: LogEntry) => {
    // The SDK's TypeScript part writes `runId`, and its native part writes `run_id`.
    const runId: unknown = meta?.['runId'] ?? meta?.['run_id']
    const run = typeof runId === 'string' ? { runId } : {}
    if (level === 'ERROR') return log('error', message, run)
    return log(level === 'WARN' && !expectedEvents.test(message) ? 'warn' : 'debug', message, run)
  })
}

const host = '127.0.0.1'
const answerMsMax = 1_000
/**
 * Names as Prometheus wants them: counters end in `_total`, names end in their unit, times are in seconds.
 */
const names = { countersTotalSuffix: true, unitSuffix: true, useSecondsForDurations: true } as const

/**
 * Installs the runtime together with the metrics of its native part. The native part offers them only over HTTP, on
 * a port of its own, so it gets a free port of 127.0.0.1. Returns a function that fetches the metrics in
 * Prometheus' text format. The function returns an empty text when it fails.
 */
export async function installMeasuredRuntime(log: WorkerLog): Promise<() => Promise<string>> {
  const bindAddress = `${host}:${await freePort()}`
  installRuntime(log, { prometheus: { bindAddress, ...names } })
  return async () => {
    const signal = AbortSignal.timeout(answerMsMax)
    const answer = fetch(`http://${bindAddress}/metrics`, { signal })
    return answer.then((given) => (given.ok ? given.text() : '')).catch(() => '')
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
