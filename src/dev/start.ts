import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { httpUrl, inheritedEnvironment, readConfig, required } from '../config.ts'
import { ConfigError } from '../config/configError.ts'
import { runtimeFileName, writeRuntimeFile } from '../config/runtimeFile.ts'
import { createPool } from '../store/connection/pool.ts'
import { migrate } from '../store/schema/migrate.ts'
import { connectTemporal, temporalSettings } from '../temporal/connect.ts'
import { ensureNamespace, registerSearchAttributes } from '../temporal/namespace.ts'
import { pricedOperation } from '../wiring/installation.ts'
import { demoKey } from './demoAccount.ts'
import type { OwnPorts } from './ownPorts.ts'
import { ownPorts } from './ownPorts.ts'
import { serviceEnvironment } from './serviceEnvironment.ts'
import type { ServiceProcess } from './serviceProcess.ts'
import { startServiceProcess } from './serviceProcess.ts'
import type { Simulator } from './simulator/startSimulator.ts'
import { startSimulator } from './simulator/startSimulator.ts'
import type { Say } from './stack/say.ts'
import type { Stack } from './stack/stack.ts'
import { startStack } from './stack/stack.ts'
import type { UntilReadyOptions } from './untilReady.ts'
import { untilReady } from './untilReady.ts'

export type Service = {
  readonly apiUrl: string
  readonly temporalUiUrl: string | undefined
  /** The demo account's key; absent where the demo is off. */
  readonly key: string | undefined
  readonly keyPath: string
  /** Resolves, with the reason, when a process refuses its configuration after a crash. */
  readonly refused: Promise<string>
  readonly stop: () => Promise<void>
  readonly kill: () => void
}

const loopback = new Set(['127.0.0.1', '::1', 'localhost'])
const readyTimeoutMs = 60_000

/** What has been started, to be stopped in the reverse order whatever happens in between. */
type Started = {
  stack?: Stack
  simulator?: Simulator
  readonly services: ServiceProcess[]
  readonly refused: PromiseWithResolvers<string>
  /** The CLI finds this stack; before, perhaps another on the same folder, which refused this start. */
  toldCli?: true
}

/** The whole service on one machine (design section 3): resolves when `GET /readyz` is 200. */
export async function startService(say: Say): Promise<Service> {
  const config = readConfig()
  const demo = loopback.has(config.host)
  const withSimulator = config.operatorFilePath === undefined
  if (withSimulator && !demo) {
    throw new ConfigError(
      'DARKROOM_CONFIG is not set, and the simulator serves only while HOST is a loopback address.',
    )
  }
  // Our processes would end at it, again and again.
  if (!withSimulator) pricedOperation(config, { withKeys: true })
  const started: Started = { services: [], refused: Promise.withResolvers() }
  const stop = () => stopAll(started, config)
  try {
    const ports = await ownPorts(config, withSimulator)
    const stack = await startEmbedded(config, started, say)
    await prepare(config, stack, say)
    if (withSimulator) started.simulator = await startSimulator({ port: ports.simulator })
    const environment = await serviceEnvironment(config, stack, ports, started.simulator?.url)
    const key = demo ? await makeDemoKey(config, environment) : undefined
    await writeRuntimeFile(config.dataDir, environment)
    started.toldCli = true
    await startProcesses({ config, started, ports, environment, say })
    return {
      apiUrl: httpUrl(config.host, ports.api),
      temporalUiUrl: stack.temporalUiUrl,
      key,
      keyPath: join(config.dataDir, 'demo-key'),
      refused: started.refused.promise,
      stop,
      kill: () => {
        for (const service of started.services) service.kill()
        stack.kill()
      },
    }
  } catch (error) {
    await stop()
    throw error
  }
}

async function startEmbedded(config: Config, started: Started, say: Say): Promise<Stack> {
  const { postgresPort, temporalPort, temporalUiPort } = config
  const stack = await startStack({
    dataDir: config.dataDir,
    ports: { postgres: postgresPort, temporal: temporalPort, temporalUi: temporalUiPort },
    databaseUrl: config.databaseUrl,
    temporalAddress: config.temporalAddress,
    env: inheritedEnvironment(),
    say,
    withUi: true,
    durable: true,
  })
  started.stack = stack
  return stack
}

async function prepare(config: Config, stack: Stack, say: Say): Promise<void> {
  const { applied } = await migrate({ databaseUrl: stack.databaseUrl })
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
 * The worker before the API: whoever sees `GET /readyz` answer 200 finds everything there. The API's
 * internal answer is asked for too, since only it tells how the parts stand.
 */
async function startProcesses(start: {
  readonly config: Config
  readonly started: Started
  readonly ports: OwnPorts
  readonly environment: Readonly<Record<string, string>>
  readonly say: Say
}): Promise<void> {
  const { config, started, ports, environment, say } = start
  const all = { ...inheritedEnvironment(), ...environment }
  const readyz = (host: string, port: number) => `${httpUrl(host, port)}/readyz`
  const run = async (name: 'worker' | 'api', probes: UntilReadyOptions['probes']) => {
    const onRefused = started.refused.resolve
    started.services.push(startServiceProcess({ name, environment: all, say, onRefused }))
    await untilReady({ probes, refused: started.refused.promise, timeoutMs: readyTimeoutMs })
  }
  await run('worker', [
    { name: 'the worker', url: readyz(config.internalHost, ports.workerInternal) },
  ])
  await run('api', [
    { name: 'the api', url: readyz(config.internalHost, ports.internal) },
    { name: 'the api for clients', url: readyz(config.host, ports.api) },
  ])
}

async function makeDemoKey(
  config: Config,
  environment: Readonly<Record<string, string>>,
): Promise<string> {
  const { databaseUrl, keyPeppers } = readConfig(environment)
  const pool = createPool({
    databaseUrl: required(databaseUrl, 'DATABASE_URL'),
    applicationName: 'darkroom-dev',
    connectionsMax: 1,
    onConnectionError: () => {},
  })
  try {
    const [newest, ...older] = required(keyPeppers, 'KEY_PEPPER')
    return await demoKey(pool, config.dataDir, [required(newest, 'KEY_PEPPER'), ...older])
  } finally {
    await pool.end()
  }
}

async function stopAll(started: Started, config: Config): Promise<void> {
  // Calls that are under way are finished before, which takes minutes: the CLI is to find the stack.
  await Promise.all(started.services.map((service) => service.stop()))
  if (started.toldCli) await rm(join(config.dataDir, runtimeFileName), { force: true })
  await started.simulator?.close()
  await started.stack?.stop()
}
