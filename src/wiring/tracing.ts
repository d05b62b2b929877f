import type { Config } from '../config.ts'
import type { Tracing } from '../telemetry/tracing.ts'

/** Traces when somebody collects them. Otherwise not even their library is loaded. */
export async function openTracing(
  config: Config,
  process: 'api' | 'worker',
): Promise<Tracing | undefined> {
  if (config.otlpEndpoint === undefined) return undefined
  const { createTracing } = await import('../telemetry/tracing.ts')
  return createTracing(process)
}
