import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { httpUrl, inheritedEnvironment, required, variableNames } from '../config/environment.ts'
import { credentialVariables } from '../config/operatorSettings.ts'
import { defined } from '../domain/defined.ts'
import { isLoopback } from '../domain/isLoopback.ts'
import { families } from '../domain/models/models.ts'
import { embeddedSecret } from './dataDir.ts'
import type { StartConfig } from './variables.ts'

/**
 * Flags of Node for each process. The Dockerfile sets the same.
 *
 * `--max-semi-space-size`: V8 collects young objects more often, such as the `Buffer` of an image, whose bytes lie
 * outside of the heap. So these bytes are freed sooner. `--v8-pool-size`: on two processors, the four threads of V8 keep
 * the main thread from running for 30 ms and more under large bodies. `--heap-growing-percent`: V8 would collect the whole
 * heap each time some 17 MiB of bodies and images were allocated outside of it, which took a worker half the time of
 * a call with 1 MiB. A worker then takes 20 MiB more.
 */
export const serviceNodeFlags = [
  '--max-semi-space-size=4',
  '--v8-pool-size=1',
  '--heap-growing-percent=100',
] as const

/** The processes that `npm start` runs beside PostgreSQL and Temporal. */
export type ServiceName = 'api' | 'worker' | 'admin'

/**
 * Variables for glibc's allocator. Each thread of the pool would otherwise keep freed memory for itself.
 * Measured under 20 calls of 1 MiB, with `serviceNodeFlags`: a worker takes 360 MiB and not 500, an API 200
 * MiB and not 310.
 */
export const serviceAllocator = { MALLOC_ARENA_MAX: '2' } as const

/**
 * Credentials for the simulator, which accepts any text. They differ, so the `apiKeyDigest` in its log shows
 * which channel made a call.
 */
const simulatorCredentials = { FAMILYA_API_KEY: 'simulator-a', FAMILYB_API_KEY: 'simulator-b' }

/** The addresses of PostgreSQL and Temporal, embedded or the operator's. */
export type EmbeddedParts = {
  readonly databaseUrl: string
  /** HOST:PORT */
  readonly temporalAddress: string
  readonly temporalUiUrl: string | undefined
}

/**
 * Returns the variables of the API process, the worker and the CLI, which gets them through `runtime.json`: the settings
 * of this process, and the addresses and secrets of the embedded parts. The processes get the other variables of this
 * one too: see `processEnvironment`.
 */
export async function serviceEnvironment(
  config: StartConfig,
  { databaseUrl, temporalAddress, temporalUiUrl }: EmbeddedParts,
  simulatorUrl: string | undefined,
): Promise<Readonly<Record<string, string>>> {
  const { dataDir, operatorFilePath } = config
  // The keys are for the admin process alone. Whose name a change by the CLI gets, the shell that calls it says.
  const {
    ADMIN_KEYS: _keys,
    DARKROOM_ACTOR: _actor,
    ...given
  }: Record<string, string> = inheritedEnvironment()
  const settings = Object.entries(given).filter(([name]) => variableNames.has(name))
  const simulated = simulatorUrl && {
    DARKROOM_CONFIG: await writeSimulatorFile(config, simulatorUrl),
    ...simulatorCredentials,
  }
  const secret = (name: string) =>
    embeddedSecret(join(dataDir, name), `${randomBytes(4).toString('hex')}:`)
  return {
    PUBLIC_URL: httpUrl(config.host, config.port),
    SIGNING_KEYS: given['SIGNING_KEYS'] ?? (await secret('signing-keys')),
    KEY_PEPPER: given['KEY_PEPPER'] ?? (await secret('key-pepper')),
    WEBHOOK_KEYS: given['WEBHOOK_KEYS'] ?? (await secret('webhook-keys')),
    // On a loopback address only programs on this machine can call the API, and receivers usually run here
    // too.
    WEBHOOK_PRIVATE: isLoopback(config.host) ? 'allow' : 'refuse',
    ...Object.fromEntries(settings),
    // The paths are absolute, because the CLI may run in another folder.
    ...(simulated || defined({ DARKROOM_CONFIG: operatorFilePath && resolve(operatorFilePath) })),
    DATA_DIR: dataDir,
    BLOB_STORE: config.blobStoreUrl,
    DATABASE_URL: databaseUrl,
    TEMPORAL_ADDRESS: temporalAddress,
    TEMPORAL_NAMESPACE: config.temporalNamespace,
    ...defined({ TEMPORAL_UI_URL: temporalUiUrl }),
  }
}

/**
 * The variables of one process: those of this process and `environment`. The API gets none that the operator's file
 * names as a credential, because it does not call upstream. Only the admin process gets the operators' keys.
 */
export function processEnvironment(
  name: ServiceName,
  environment: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const { ADMIN_KEYS, ...all }: Record<string, string> = {
    ...inheritedEnvironment(),
    ...environment,
  }
  if (name === 'admin') return { ...all, ...defined({ ADMIN_KEYS }) }
  if (name === 'worker') return all
  const credentials = new Set(
    credentialVariables(required(all['DARKROOM_CONFIG'], 'DARKROOM_CONFIG')),
  )
  return Object.fromEntries(Object.entries(all).filter(([variable]) => !credentials.has(variable)))
}

/**
 * Writes an operator's file with one channel to the simulator for each family, and with SIMULATOR_RELAY=on one more, to
 * its bad relay. Returns the path of the file.
 */
async function writeSimulatorFile(
  { dataDir, simulatorRelay }: StartConfig,
  simulatorUrl: string,
): Promise<string> {
  const path = join(dataDir, 'simulator.config.json')
  const shared = { concurrencyMax: 50 }
  const main = {
    A: { name: 'a-main', baseUrl: simulatorUrl, apiKeyEnv: 'FAMILYA_API_KEY' },
    B: { name: 'b-main', baseUrl: `${simulatorUrl}/v1`, apiKeyEnv: 'FAMILYB_API_KEY' },
  }
  const ofFamilies = families.map((family) => ({ family, ...main[family] }))
  const relay = {
    family: 'B',
    ...main.B,
    name: 'b-relay',
    baseUrl: `${simulatorUrl}/bad-relay/v1`,
    weight: 1,
  }
  const channels = [...ofFamilies, ...(simulatorRelay ? [relay] : [])]
  const file = { channels: channels.map((channel) => ({ ...channel, ...shared })) }
  await writeFile(path, `${JSON.stringify(file, null, 2)}\n`)
  return path
}
