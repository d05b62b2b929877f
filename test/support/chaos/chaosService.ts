import type { TestService } from '../service/testService.ts'
import { startTestService } from '../service/testService.ts'

/**
 * Starts a service of two APIs and two workers, so that some live on while chaos kills others. Its upstream answers
 * within `latencyMsMax`. The caller must call `stop`.
 */
export function startChaosService(latencyMsMax: number): Promise<TestService> {
  return startTestService({
    apis: 2,
    workers: 2,
    channel: { timeoutSeconds: 4 },
    simulator: { latency: { minMs: 20, maxMs: latencyMsMax } },
    environment: { LOG_LEVEL: 'warn', PUBLIC_URL: 'https://images.example.test' },
  })
}
