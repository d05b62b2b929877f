import type { LogEntry } from '@temporalio/worker'
import { DefaultLogger, Runtime } from '@temporalio/worker'

export type WorkerLog = (
  level: 'debug' | 'warn' | 'error',
  event: string,
  run: { readonly runId?: string },
) => void

/** Names as Prometheus wants them: counters end in `_total`, names end in their unit, times are in seconds. */
const names = { countersTotalSuffix: true, unitSuffix: true, useSecondsForDurations: true } as const

/**
 * Configures the native part of Temporal's SDK. Call this once per process, before the first worker. The SDK
 * then handles no signals: our process decides when to stop, so that running upstream calls can finish first.
 * With `metricsAddress` (IP:PORT) the SDK serves its own metrics there for Prometheus: slots, polls, latencies.
 * Throws when it cannot listen there.
 */
export function installRuntime(log: WorkerLog, metricsAddress?: string): void {
  const logging = { filter: { core: 'WARN', other: 'ERROR' }, forward: {} } as const
  const metrics = { prometheus: { bindAddress: metricsAddress ?? '', ...names } }
  try {
    Runtime.install({
      logger: loggerOf(log),
      shutdownSignals: [],
      telemetryOptions: metricsAddress === undefined ? { logging } : { logging, metrics },
    })
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'failed'
    throw new Error(`TEMPORAL_METRICS_ADDRESS ${metricsAddress}: ${reason}`, { cause: error })
  }
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
