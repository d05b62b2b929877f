import { createClient } from '../../test/support/clients/client.ts'
import type { Client } from '../../test/support/clients/client.ts'
import { simulatorFile } from '../../test/support/service/simulatorFile.ts'
import type { ServiceOptions, TestService } from '../../test/support/service/testService.ts'
import { startTestService } from '../../test/support/service/testService.ts'
import { createSimulatorClient } from '../../test/support/simulatorClient.ts'
import { startScript } from './processes.ts'

/** A running service with an account. Its upstream is a process of its own. */
export type BenchService = TestService & {
  readonly client: Client
  readonly headers: Readonly<Record<string, string>>
}

const manyCredits = 1_000_000_000

/** Starts a service whose channels lead to `upstreamUrl`. The caller must call `stop`. */
export async function startBenchService(
  upstreamUrl: string,
  options: ServiceOptions,
): Promise<BenchService> {
  const service = await startTestService({
    ...options,
    operatorFile: () =>
      options.operatorFile?.(upstreamUrl) ?? simulatorFile(upstreamUrl, options.channel),
    environment: { LOG_LEVEL: 'warn', ...options.environment },
  })
  const client = createClient(service.url, (await service.account(manyCredits)).secret)
  const headers = { authorization: client.authorization, 'content-type': 'application/json' }
  return { ...service, client, headers }
}

export type SimulatedOptions = ServiceOptions & {
  /** The milliseconds that a call takes. Default 50. */
  readonly latency?: string
}

/** Runs `work` with a service whose upstream is a simulator in a process of its own. */
export async function withSimulated(
  { latency = '50-50', ...options }: SimulatedOptions,
  work: (service: BenchService) => Promise<void>,
): Promise<void> {
  const simulator = await startScript(
    'src/dev/simulator/main.ts',
    ['--tiny', '--latency', latency, '--port'],
    '/__simulator/calls?prompt=none',
  )
  const service = await startBenchService(simulator.url, options)
  try {
    await work({ ...service, simulator: createSimulatorClient(simulator.url) })
  } finally {
    await service.stop()
    await simulator.stop()
  }
}
