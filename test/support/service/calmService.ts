import { readFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Pool } from 'pg'
import { createPool } from '../../../src/store/connection/pool.ts'
import type { SimulatorClient } from '../simulatorClient.ts'
import { createSimulatorClient } from '../simulatorClient.ts'
import { calmAddresses } from '../stack/embeddedStack.ts'
import type { TemporalWorld } from '../temporal/temporalWorld.ts'
import { openKnownNamespace } from '../temporal/temporalWorld.ts'
import type { DarkroomProcess } from './testService.ts'
import { startDarkroomProcess } from './testService.ts'
import type { TestAccount } from './testAccount.ts'
import { createAccounts } from './testAccount.ts'

/**
 * The service that all tests of a run share: two APIs and one worker at debug level, with one channel for each
 * family, both to one simulator. A test makes accounts of its own, and gives its prompts texts that no other
 * test uses. It neither stops a process nor pauses a channel nor makes one cool down.
 */
export type CalmService = {
  /** The base URL of the first API. */
  readonly url: string
  readonly urls: readonly [string, string]
  /** The addresses of the pages for operators, of the APIs and of the worker. */
  readonly internalUrls: readonly [string, string]
  readonly workerUrl: string
  readonly simulator: SimulatorClient
  readonly databaseUrl: string
  readonly pool: Pool
  readonly temporal: TemporalWorld
  readonly blobDir: string
  /** The variables of the processes, for the CLI and for further processes. */
  readonly environment: Readonly<Record<string, string>>
  /** Creates an account with an API key. Without a name it gets a random one. */
  readonly account: (credits?: number, name?: string) => Promise<TestAccount>
  /** Starts a further API on free ports with the given variables changed. The test must stop it. */
  readonly startApi: (changed?: Readonly<Record<string, string>>) => Promise<DarkroomProcess>
  /** What the processes have printed so far. */
  readonly logs: () => string
}

const connectionsMax = 10
let opened: Promise<CalmService> | undefined

/** Returns the calm service. Test files of one process share the connections to it. */
export function calmService(): Promise<CalmService> {
  opened ??= open()
  return opened
}

async function open(): Promise<CalmService> {
  const { environment, urls, internalUrls, workerUrl, simulatorUrl, logPaths } =
    await calmAddresses()
  const value = (name: string) => environment[name] ?? ''
  const pool = createPool({
    databaseUrl: value('DATABASE_URL'),
    applicationName: 'tests',
    connectionsMax,
    onConnectionError: () => undefined,
  })
  return {
    url: urls[0],
    urls,
    internalUrls,
    workerUrl,
    simulator: createSimulatorClient(simulatorUrl),
    databaseUrl: value('DATABASE_URL'),
    pool,
    temporal: openKnownNamespace({
      address: value('TEMPORAL_ADDRESS'),
      namespace: value('TEMPORAL_NAMESPACE'),
    }),
    blobDir: fileURLToPath(value('BLOB_STORE')),
    environment,
    account: createAccounts(pool, value('KEY_PEPPER')),
    startApi: async (changed = {}) => {
      const { PORT: _port, INTERNAL_PORT: _internal, ...shared } = environment
      const folder = await mkdtemp(join(tmpdir(), 'darkroom-api-'))
      const given = { ...shared, LOG_LEVEL: 'debug', ...changed }
      return startDarkroomProcess('api', folder, given)
    },
    logs: () => logPaths.map((path) => readFileSync(path, 'utf8')).join(''),
  }
}
