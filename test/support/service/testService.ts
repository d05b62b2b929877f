import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Pool } from 'pg'
import type { Simulator } from '../../../src/dev/simulator/server.ts'
import { startSimulator } from '../../../src/dev/simulator/server.ts'
import { freePort } from '../../../src/dev/stack/ports.ts'
import { newAccountId } from '../../../src/domain/accounts/account.ts'
import { createIssueKey } from '../../../src/tasks/apiKeys.ts'
import { createAccountStore } from '../../../src/wiring/stores.ts'
import type { DarkroomProcess } from './darkroomProcess.ts'
import { startDarkroomProcess } from './darkroomProcess.ts'
import { createTestDatabase } from '../database/testDatabase.ts'
import { embeddedStack } from '../stack/embeddedStack.ts'
import type { TemporalWorld } from '../temporal/temporalWorld.ts'
import { openTemporalWorld } from '../temporal/temporalWorld.ts'

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
}

/** An account with one API key. */
export type TestAccount = {
  readonly name: string
  readonly accountId: string
  readonly keyId: string
  readonly secret: string
}

/** The whole service as processes, with its own database and Temporal namespace. */
export type TestService = {
  readonly apis: DarkroomProcess[]
  readonly workers: DarkroomProcess[]
  /** Base URL of the first API. */
  readonly url: string
  readonly simulator: Simulator
  readonly databaseUrl: string
  readonly pool: Pool
  readonly temporal: TemporalWorld
  readonly blobDir: string
  /** The variables of the processes, for the CLI and for further processes. */
  readonly environment: Readonly<Record<string, string>>
  /** Creates an account with an API key. Without a name it gets a random one. */
  readonly account: (credits?: number, name?: string) => Promise<TestAccount>
  /** Starts one more worker with the given variables changed. */
  readonly startWorker: (changed?: Readonly<Record<string, string>>) => Promise<DarkroomProcess>
  /** Starts one more API with the given variables changed. */
  readonly startApi: (changed?: Readonly<Record<string, string>>) => Promise<DarkroomProcess>
  readonly stop: () => Promise<void>
}

const pepper = { id: 'test', secret: 'pepper-of-the-tests-0123456789' }

/** Starts simulator, workers and APIs. The caller must call `stop`. */
export async function startTestService(options: ServiceOptions = {}): Promise<TestService> {
  const { temporalAddress } = await embeddedStack()
  const [database, temporal, folder, simulator] = await Promise.all([
    createTestDatabase(),
    openTemporalWorld(temporalAddress),
    mkdtemp(join(tmpdir(), 'darkroom-service-')),
    startSimulator({ latency: 50, image: 'tiny', ...options.simulator, port: 0 }),
  ])
  const operatorFile = join(folder, 'config.json')
  const content = options.operatorFile ?? ((url: string) => simulatorFile(url, options.channel))
  await writeFile(operatorFile, JSON.stringify(content(simulator.url)))
  const blobDir = join(folder, 'blobs')
  const environment = {
    DATA_DIR: folder,
    DATABASE_URL: (await options.pooler?.(database.databaseUrl)) ?? database.databaseUrl,
    ...(options.pooler && { DATABASE_SESSION_URL: database.databaseUrl }),
    TEMPORAL_ADDRESS: temporalAddress,
    TEMPORAL_NAMESPACE: temporal.settings.namespace,
    BLOB_STORE: pathToFileURL(blobDir).href,
    SIGNING_KEYS: 'test:signing-key-of-the-tests-0123',
    KEY_PEPPER: `${pepper.id}:${pepper.secret}`,
    WEBHOOK_KEYS: 'w1:webhook-key-of-the-tests-0123456',
    WEBHOOK_PRIVATE: 'allow',
    DARKROOM_CONFIG: operatorFile,
    FAMILYA_API_KEY: 'upstream-credential-a',
    FAMILYB_API_KEY: 'upstream-credential-b',
    ...options.environment,
  }
  const workers: DarkroomProcess[] = []
  const startWorker = async (changed: Readonly<Record<string, string>> = {}) => {
    const worker = await startWorkerProcess({ ...environment, ...changed })
    workers.push(worker)
    return worker
  }
  const startWorkers = async () => {
    // One after the other: the first worker fills the cache of the workflow bundle for the others.
    for (let count = 0; count < (options.workers ?? 1); count += 1) await startWorker()
  }
  const startApis = Array.from({ length: options.apis ?? 1 }, () => startApiProcess(environment))
  const [apis] = await Promise.all([Promise.all(startApis), startWorkers()])
  const startApi = async (changed: Readonly<Record<string, string>> = {}) => {
    const api = await startApiProcess({ ...environment, ...changed })
    apis.push(api)
    return api
  }
  return {
    apis,
    workers,
    url: apis[0]?.url ?? '',
    simulator,
    databaseUrl: database.databaseUrl,
    pool: database.pool,
    temporal,
    blobDir,
    environment,
    account: (credits = 1_000_000, name = `test-${randomBytes(6).toString('hex')}`) =>
      makeAccount(database.pool, credits, name),
    startWorker,
    startApi,
    stop: async () => {
      // A worker in a call that hangs would take its whole grace. Tests of stopping stop processes themselves.
      await Promise.all([...apis, ...workers].map((process) => process.stop(0)))
      await simulator.close()
      await temporal.close()
      await database.drop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function startApiProcess(
  environment: Readonly<Record<string, string>>,
): Promise<DarkroomProcess> {
  const [port, internal] = [await freePort(), await freePort()]
  const url = `http://127.0.0.1:${port}`
  return startDarkroomProcess({
    name: 'api',
    environment: { PORT: String(port), INTERNAL_PORT: String(internal), ...environment },
    url,
    readyUrl: `${url}/readyz`,
  })
}

async function startWorkerProcess(
  environment: Readonly<Record<string, string>>,
): Promise<DarkroomProcess> {
  const internal = await freePort()
  const url = `http://127.0.0.1:${internal}`
  return startDarkroomProcess({
    name: 'worker',
    environment: {
      WORKER_INTERNAL_PORT: String(internal),
      ...environment,
    },
    url,
    readyUrl: `${url}/readyz`,
  })
}

async function makeAccount(pool: Pool, credits: number, name: string): Promise<TestAccount> {
  const accounts = createAccountStore(pool)
  const accountId = newAccountId(randomBytes)
  await accounts.createAccount({ accountId, name, credits })
  const issued = await createIssueKey({ accounts, pepper, randomBytes })(name)
  if (issued === undefined) throw new Error('no key for an account just made')
  return { name, accountId, keyId: issued.key.keyId, secret: issued.secret }
}

function simulatorFile(url: string, channel: Readonly<Record<string, unknown>> = {}): unknown {
  const a = { name: 'a-main', family: 'A', baseUrl: url, apiKeyEnv: 'FAMILYA_API_KEY' }
  const b = { name: 'b-main', family: 'B', baseUrl: `${url}/v1`, apiKeyEnv: 'FAMILYB_API_KEY' }
  return { channels: [a, b].map((each) => ({ ...each, ...channel })) }
}
