import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config.ts'
import { choosePorts } from './stack/ports.ts'
import { StartError } from './stack/startError.ts'

/** The ports of the API process, the worker and the simulator. */
export type ServicePorts = {
  readonly api: number
  readonly internal: number
  readonly workerInternal: number
  /** 0 when no simulator is started. */
  readonly simulator: number
}

/**
 * How many times to try the ports, and the pause between two tries. Together almost three seconds: long enough for
 * the processes of a start that was just killed to end and free their ports.
 */
const triesMax = 10
const pauseMs = 300

/**
 * Chooses the ports of the service's own processes before any process starts. Throws `StartError` when a port
 * is in use, or when a host is not an address of this machine. The message names the variable to change.
 */
export async function chooseServicePorts(
  config: Config,
  withSimulator: boolean,
): Promise<ServicePorts> {
  const host = { address: config.host, variable: 'HOST' }
  const internalHost = { address: config.internalHost, variable: 'INTERNAL_HOST' }
  const { internalPort, workerInternalPort, simulatorPort } = config
  const wishes = [
    { name: 'api', port: config.port, variable: 'PORT', host },
    { name: 'internal', port: internalPort, variable: 'INTERNAL_PORT', host: internalHost },
    {
      name: 'workerInternal',
      port: workerInternalPort,
      variable: 'WORKER_INTERNAL_PORT',
      host: internalHost,
    },
    ...(withSimulator
      ? [{ name: 'simulator', port: simulatorPort, variable: 'SIMULATOR_PORT' } as const]
      : []),
  ] as const
  for (let tries = 1; ; tries += 1) {
    try {
      const port = await choosePorts(config.dataDir, wishes)
      return {
        api: port('api'),
        internal: port('internal'),
        workerInternal: port('workerInternal'),
        simulator: withSimulator ? port('simulator') : 0,
      }
    } catch (error) {
      if (tries >= triesMax || !(error instanceof StartError)) throw error
      await sleep(pauseMs)
    }
  }
}
