import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config.ts'
import { choosePorts } from './stack/choosePorts.ts'
import { isStartFailure } from './stack/startFailure.ts'

export type OwnPorts = {
  readonly api: number
  readonly internal: number
  readonly workerInternal: number
  readonly simulator: number
}

/** Processes of a start that was just killed are gone within moments. */
const triesMax = 10
const pauseMs = 300

/** The ports of our own processes, settled and found free before anything is started. */
export async function ownPorts(config: Config, withSimulator: boolean): Promise<OwnPorts> {
  const host = { address: config.host, variable: 'HOST' }
  const internalHost = { address: config.internalHost, variable: 'INTERNAL_HOST' }
  const wishes = [
    { name: 'api', port: config.port, variable: 'PORT', host },
    {
      name: 'internal',
      port: config.internalPort,
      variable: 'INTERNAL_PORT',
      host: internalHost,
    },
    {
      name: 'workerInternal',
      port: config.workerInternalPort,
      variable: 'WORKER_INTERNAL_PORT',
      host: internalHost,
    },
    ...(withSimulator
      ? [{ name: 'simulator', port: config.simulatorPort, variable: 'SIMULATOR_PORT' } as const]
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
      if (tries >= triesMax || !isStartFailure(error)) throw error
      await sleep(pauseMs)
    }
  }
}
