import { Registry } from 'prom-client'
import { createLogger } from '../../src/telemetry/logger.ts'
import { createRecorders } from '../../src/telemetry/metrics.ts'

/** A log that writes nothing, and metrics that nobody reads. */
export const quiet = {
  log: createLogger({ level: 'silent', process: 'worker', pretty: false }),
  metrics: createRecorders(new Registry(), []),
}
