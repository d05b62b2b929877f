import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../test/support/ports.ts'
import { simulatorFile } from '../../test/support/service/simulatorFile.ts'
import { startTestProcess } from '../../test/support/service/testProcess.ts'
import type { ServiceOptions, TestService } from '../../test/support/service/testService.ts'
import { startTestService } from '../../test/support/service/testService.ts'
import { createSimulatorClient } from '../../test/support/simulatorClient.ts'

/** The simulator as a process of its own. */
export type OwnSimulator = { readonly url: string; readonly stop: () => Promise<void> }

/** Starts a simulator whose calls take `latency` milliseconds, such as `20-400`, and which sends tiny images. */
export async function ownSimulator(latency: string): Promise<OwnSimulator> {
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-simulator-'))
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const simulator = await startTestProcess({
    name: 'simulator',
    script: 'src/dev/simulator/main.ts',
    args: ['--port', String(port), '--latency', latency, '--tiny'],
    environment: {},
    logPath: join(folder, 'log'),
    readyUrl: `${url}/__simulator/calls?prompt=none`,
  })
  return {
    url,
    stop: async () => {
      await simulator.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Starts a service whose upstream is a simulator in a process of its own. The caller must call `stop`. */
export async function startSimulated(
  options: Omit<ServiceOptions, 'simulator'> & { readonly latency?: string } = {},
): Promise<TestService> {
  const { latency = '50-50', ...given } = options
  const simulator = await ownSimulator(latency)
  const service = await startTestService({
    operatorFile: () => simulatorFile(simulator.url, options.channel),
    ...given,
    environment: { LOG_LEVEL: 'warn', ...options.environment },
  })
  return {
    ...service,
    simulator: createSimulatorClient(simulator.url),
    stop: async () => {
      await service.stop()
      await simulator.stop()
    },
  }
}
