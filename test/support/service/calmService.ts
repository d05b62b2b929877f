import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createPool } from '../../../src/store/connection/pool.ts'
import { createSimulatorClient } from '../simulatorClient.ts'
import { calmAddresses } from '../stack/embeddedStack.ts'
import { openKnownNamespace } from '../temporal/temporalWorld.ts'
import { startDarkroomProcess } from './testService.ts'
import { createAccounts } from './testAccount.ts'

export type CalmService = Awaited<ReturnType<typeof open>>

const connectionsMax = 10
let opened: Promise<CalmService> | undefined

/**
 * Returns the service that all tests of a run share: two APIs, one worker and the admin process at debug level, with one
 * channel for each family, both to one simulator. A test makes accounts of its own, and gives its prompts texts that no
 * other test uses. It neither stops a process nor pauses a channel nor makes one cool down, and stops each API that
 * it starts. Test files of one process share the connections to it.
 */
export function calmService(): Promise<CalmService> {
  opened ??= open()
  return opened
}

async function open() {
  const { environment, simulatorUrl, logPaths, ...addresses } = await calmAddresses()
  const value = (name: string) => environment[name] ?? ''
  const pool = createPool({
    databaseUrl: value('DATABASE_URL'),
    applicationName: 'tests',
    connectionsMax,
    onConnectionError: () => undefined,
  })
  return {
    ...addresses,
    url: addresses.urls[0],
    adminUrl: `http://127.0.0.1:${value('ADMIN_PORT')}`,
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
    startApi: async (changed: Readonly<Record<string, string>> = {}) => {
      const { PORT: _port, INTERNAL_PORT: _internal, ...shared } = environment
      // In the folder that is removed at the end of the run.
      const folder = dirname(logPaths[0])
      const given = { ...shared, LOG_LEVEL: 'debug', ...changed }
      return startDarkroomProcess('api', folder, given)
    },
    logs: () => logPaths.map((path) => readFileSync(path, 'utf8')).join(''),
  }
}
