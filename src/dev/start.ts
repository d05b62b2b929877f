import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { httpUrl, inheritedEnvironment, readConfig } from '../config.ts'
import { ConfigError } from '../config/configError.ts'
import { runtimeFileName, writeRuntimeFile } from '../config/runtimeFile.ts'
import { openDemoAccount } from './demoAccount.ts'
import { defined } from '../domain/defined.ts'
import { isLoopback } from '../http/connection/foreignRequest.ts'
import { processEnvironment, serviceEnvironment } from './serviceEnvironment.ts'
import type { ServicePorts } from './servicePorts.ts'
import { chooseServicePorts } from './servicePorts.ts'
import type { ServiceProcess, UntilReadyOptions } from './serviceProcess.ts'
import { startServiceProcess, untilReady } from './serviceProcess.ts'
import { startSimulator } from './simulator/server.ts'
import { makePrivateFolder } from './stack/privateFolder.ts'
import type { Stack } from './stack/stack.ts'
import { startStack } from './stack/stack.ts'
import type { Say } from './stack/startError.ts'
import { migrate } from '../store/schema/migrate.ts'
import { connectTemporal, temporalSettings } from '../temporal/connect.ts'
import { ensureNamespace, registerSearchAttributes } from '../temporal/namespace.ts'
import { pricedSettings } from '../wiring/installation.ts'

/** The running service that `npm start` started. */
export type Service = {
  readonly apiUrl: string
  /** Whether the API serves its public pages, such as the playground (`PUBLIC_PAGES`). */
  readonly publicPages: boolean
  readonly temporalUiUrl?: string
  /** The secret of the demo account's API key. Absent when HOST is not a loopback address. */
  readonly key?: string
  readonly keyPath: string
  /** Resolves to the reason when a process ends because of its configuration and is not started again. */
  readonly refused: Promise<string>
  /** Stops the API process and the worker; their running calls finish first. Then stops everything else. */
  readonly stop: () => Promise<void>
  /** Sends SIGKILL to every process. */
  readonly kill: () => void
}

type ProcessesStart = {
  readonly config: Config
  readonly ports: ServicePorts
  readonly environment: Readonly<Record<string, string>>
  readonly say: Say
  readonly onStarted: (service: ServiceProcess) => void
  readonly refused: PromiseWithResolvers<string>
}

const readyTimeoutMs = 60_000

/**
 * Starts the whole service on one machine. Resolves when `GET /readyz` answers 200. When something fails,
 * stops what has started and throws `ConfigError` or `StartError`, with a message for people.
 */
export async function startService(say: Say): Promise<Service> {
  const config = readConfig()
  const onLoopback = isLoopback(config.host)
  const withSimulator = config.operatorFilePath === undefined
  if (withSimulator && !onLoopback) {
    throw new ConfigError(
      'DARKROOM_CONFIG is not set, and the simulator serves only while HOST is a loopback address.',
    )
  }
  // Checks the operator's file now. Otherwise the API process and the worker would find an error only minutes
  // later.
  if (!withSimulator) pricedSettings(config, { withKeys: true })
  const keyPath = join(config.dataDir, 'demo-key')
  const services: ServiceProcess[] = []
  const refused = Promise.withResolvers<string>()
  /** What `stop` runs, the last one first. */
  const cleanups: (() => Promise<void>)[] = []
  const stop = async (): Promise<void> => {
    for (const cleanUp of cleanups.splice(0).toReversed()) await cleanUp()
  }
  try {
    await makePrivateFolder(config.dataDir, 'DATA_DIR')
    const ports = await chooseServicePorts(config, withSimulator)
    const stack = await startEmbedded(config, say)
    cleanups.push(() => stack.stop())
    await prepare(config, stack, say)
    const simulator = withSimulator ? await startSimulator({ port: ports.simulator }) : undefined
    if (simulator !== undefined) cleanups.push(() => simulator.close())
    const environment = await serviceEnvironment(config, stack, ports, simulator?.url)
    const key = onLoopback ? await openDemoAccount(keyPath, environment) : undefined
    await writeRuntimeFile(config.dataDir, environment)
    cleanups.push(() => rm(join(config.dataDir, runtimeFileName), { force: true }))
    // Running calls may take minutes to finish. Until they have finished, the CLI can still find the stack.
    cleanups.push(async () => {
      await Promise.all(services.map((service) => service.stop()))
    })
    const onStarted = (service: ServiceProcess) => void services.push(service)
    await startProcesses({ config, ports, environment, say, onStarted, refused })
    return {
      apiUrl: httpUrl(config.host, ports.api),
      publicPages: config.publicPages,
      keyPath,
      ...defined({ temporalUiUrl: stack.temporalUiUrl, key }),
      refused: refused.promise,
      stop,
      kill: () => {
        for (const service of services) service.kill()
        stack.kill()
      },
    }
  } catch (error) {
    await stop()
    throw error
  }
}

function startEmbedded(config: Config, say: Say): Promise<Stack> {
  const { dataDir, postgresPort, temporalPort, temporalUiPort } = config
  return startStack({
    dataDir,
    ports: { postgres: postgresPort, temporal: temporalPort, temporalUi: temporalUiPort },
    databaseUrl: config.databaseUrl,
    temporalAddress: config.temporalAddress,
    temporalNamespace: config.temporalNamespace,
    env: inheritedEnvironment(),
    say,
    withUi: true,
    durable: true,
  })
}

/** Migrates the database, and creates the Temporal namespace and its search attributes. */
async function prepare(config: Config, stack: Stack, say: Say): Promise<void> {
  const { applied } = await migrate({
    databaseUrl: config.databaseSessionUrl ?? stack.databaseUrl,
  })
  if (applied.length > 0) say(`Database migrated: ${applied.join(', ')}.`)
  const { temporalAddress: address } = stack
  const temporal = connectTemporal(
    temporalSettings({ address, namespace: config.temporalNamespace }),
  )
  try {
    const retentionSeconds = config.retentionSeconds + config.tombstoneSeconds
    await ensureNamespace(temporal, { retentionSeconds })
    await registerSearchAttributes(temporal)
  } finally {
    await temporal.close()
  }
}

/**
 * Starts the worker and then the API process, so that everything runs when the API's `GET /readyz` is 200.
 * Also asks the API process's internal `/readyz`, because only that one lists the parts that are not ready.
 */
async function startProcesses(start: ProcessesStart): Promise<void> {
  const { config, ports, environment, say, onStarted, refused } = start
  const readyz = (host: string, port: number) => `${httpUrl(host, port)}/readyz`
  const run = async (name: 'worker' | 'api', probes: UntilReadyOptions['probes']) => {
    const variables = processEnvironment(name, environment)
    onStarted(
      startServiceProcess({ name, environment: variables, say, onRefused: refused.resolve }),
    )
    await untilReady({ probes, refused: refused.promise, timeoutMs: readyTimeoutMs })
  }
  await run('worker', [
    { name: 'the worker', url: readyz(config.internalHost, ports.workerInternal) },
  ])
  await run('api', [
    { name: 'the api', url: readyz(config.internalHost, ports.internal) },
    { name: 'the api for clients', url: readyz(config.host, ports.api) },
  ])
}
