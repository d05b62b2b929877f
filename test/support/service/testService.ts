import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { ServiceName } from '../../../src/dev/serviceEnvironment.ts'
import { serviceAllocator, serviceNodeFlags } from '../../../src/dev/serviceEnvironment.ts'
import { startSimulator } from '../../../src/dev/simulator/startSimulator.ts'
import { createTestDatabase } from '../database/testDatabase.ts'
import { freePort } from '../ports.ts'
import { createSimulatorClient } from '../simulatorClient.ts'
import { embeddedStack } from '../stack/embeddedStack.ts'
import { openTemporalWorld } from '../temporal/temporalWorld.ts'
import { simulatorFile, upstreamCredentials, writeOperatorFile } from './simulatorFile.ts'
import { createAccounts } from './testAccount.ts'
import { spawnTestProcess, startTestProcess } from './testProcess.ts'

/** What a test changes about the service. The default is one API and one worker. */
export type ServiceOptions = {
  readonly apis?: number
  readonly workers?: number
  /** Added to the variables of all processes; replaces variables of the same name. */
  readonly environment?: Readonly<Record<string, string>>
  /** Turns the address of the database into the address of a pooler in front of it. */
  readonly pooler?: (databaseUrl: string) => Promise<string>
  /** Fields of both channels: `timeoutSeconds`, `concurrencyMax`. */
  readonly channel?: Readonly<Record<string, unknown>>
  /** The operator file, instead of two channels that lead to the simulator. */
  readonly operatorFile?: (simulatorUrl: string) => unknown
  readonly simulator?: Omit<Parameters<typeof startSimulator>[0], 'port'>
  /** The folder of another checkout, whose code runs on the schema of its own `migrate`. */
  readonly checkout?: string
}

/** One real API, worker or admin process. */
export type DarkroomProcess = Awaited<ReturnType<typeof startDarkroomProcess>>
export type TestService = Awaited<ReturnType<typeof startTestService>>
type Variables = Readonly<Record<string, string>>

const keyPepper = 'test:pepper-of-the-tests-0123456789'

/**
 * Starts simulator, workers and APIs for one test file, for what the shared service cannot show: channels that cool
 * down, processes that are killed. They have their own database and namespace on the PostgreSQL and Temporal of the
 * run. The caller must call `stop`.
 */
export async function startTestService(options: ServiceOptions = {}) {
  const { temporalAddress } = await embeddedStack()
  const [database, temporal, folder, simulator] = await Promise.all([
    createTestDatabase(),
    openTemporalWorld(temporalAddress),
    mkdtemp(join(tmpdir(), 'darkroom-service-')),
    startSimulator({ latency: 50, image: 'tiny', ...options.simulator, port: 0 }),
  ])
  const { pooler, operatorFile, channel } = options
  const blobDir = join(folder, 'blobs')
  /** The variables of the processes, for the CLI and for further processes. */
  const environment: Variables = {
    ...upstreamCredentials,
    DATA_DIR: folder,
    DATABASE_URL: (await pooler?.(database.databaseUrl)) ?? database.databaseUrl,
    ...(pooler && { DATABASE_SESSION_URL: database.databaseUrl }),
    TEMPORAL_ADDRESS: temporalAddress,
    TEMPORAL_NAMESPACE: temporal.settings.namespace,
    BLOB_STORE: pathToFileURL(blobDir).href,
    SIGNING_KEYS: 'test:signing-key-of-the-tests-0123',
    KEY_PEPPER: keyPepper,
    WEBHOOK_KEYS: 'w1:webhook-key-of-the-tests-0123456',
    WEBHOOK_PRIVATE: 'allow',
    DARKROOM_CONFIG: await writeOperatorFile(
      join(folder, 'config.json'),
      operatorFile?.(simulator.url) ?? simulatorFile(simulator.url, channel),
    ),
    ...options.environment,
  }
  /** Runs `darkroom migrate` of a checkout. */
  const migrate = (checkout: string) => migrateWith(checkout, folder, environment)
  if (options.checkout !== undefined) {
    await database.pool.query('drop schema public cascade; create schema public')
    await migrate(options.checkout)
  }
  const apis: DarkroomProcess[] = []
  const workers: DarkroomProcess[] = []
  const start = async (name: 'api' | 'worker', changed: Variables, checkout = options.checkout) => {
    const given = { ...environment, ...changed }
    const started = await startDarkroomProcess(name, folder, given, { checkout })
    const list = name === 'api' ? apis : workers
    list.push(started)
    return started
  }
  const startWorkers = async () => {
    // One after the other: the first worker fills the cache of the workflow bundle for the others.
    for (let count = 0; count < (options.workers ?? 1); count += 1) await start('worker', {})
  }
  const startApis = Array.from({ length: options.apis ?? 1 }, () => start('api', {}))
  await Promise.all([...startApis, startWorkers()])
  return {
    apis,
    workers,
    /** The base URL of the first API. */
    url: apis[0]?.url ?? '',
    simulator: createSimulatorClient(simulator.url),
    databaseUrl: database.databaseUrl,
    pool: database.pool,
    temporal,
    blobDir,
    environment,
    account: createAccounts(database.pool, keyPepper),
    migrate,
    /** Starts one more process with the given variables changed, of the given checkout. */
    startWorker: (changed: Variables = {}, checkout?: string) => start('worker', changed, checkout),
    startApi: (changed: Variables = {}, checkout?: string) => start('api', changed, checkout),
    /** What the processes have printed so far. */
    logs: () => [...apis, ...workers].map((each) => each.output()).join(''),
    stop: async () => {
      // A worker in a call that hangs would take its whole grace. Tests of stopping stop processes themselves.
      await Promise.all([...apis, ...workers].map((process) => process.stop(0)))
      await simulator.close()
      await temporal.close()
      await database.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function migrateWith(
  checkout: string,
  folder: string,
  environment: Variables,
): Promise<void> {
  const script = { script: 'src/cli.ts', args: ['migrate'], logPath: join(folder, 'migrate.log') }
  const run = spawnTestProcess({ ...script, checkout, environment })
  const code = await run.ended
  if (code !== 0) throw new Error(`darkroom migrate ended with ${code}: ${run.output()}`)
}

/** The variable with the port of a process at which it says whether it is ready. */
const portVariables = { api: 'PORT', worker: 'WORKER_INTERNAL_PORT', admin: 'ADMIN_PORT' } as const

/**
 * Starts `src/NAME.ts` on a free port, which a variable of its port in the environment replaces. With
 * `alone` it runs as in production, so that it tells load balancers before it stops, and the caller must stop
 * it in every case.
 */
export async function startDarkroomProcess(
  name: ServiceName,
  folder: string,
  given: Variables,
  {
    alone = false,
    checkout,
  }: { readonly alone?: boolean; readonly checkout?: string | undefined } = {},
) {
  const [port, internal] = [String(await freePort()), String(await freePort())]
  const ports = { [portVariables[name]]: port, ...(name === 'api' && { INTERNAL_PORT: internal }) }
  const environment: Variables = { ...ports, ...serviceAllocator, ...given }
  const url = `http://127.0.0.1:${environment[portVariables[name]]}`
  const started = await startTestProcess({
    name,
    script: `src/${name}.ts`,
    checkout,
    args: alone ? [] : ['--exit-with-parent'],
    nodeFlags: serviceNodeFlags,
    environment,
    logPath: join(folder, `${name}-${port}.log`),
    readyUrl: `${url}/readyz`,
  })
  return { ...started, name, url }
}
