import { resolve } from 'node:path'
import type { Config } from '../config.ts'
import { httpUrl, inheritedEnvironment, required } from '../config.ts'
import { credentialVariables } from '../config/operatorSettings.ts'
import { defined } from '../domain/defined.ts'
import { isLoopback } from '../http/connection/foreignRequest.ts'
import { simulatorCredentials, writeDefaultOperatorFile } from './defaultOperatorFile.ts'
import { embeddedSecret } from './secretFile.ts'
import type { ServicePorts } from './servicePorts.ts'
import type { Stack } from './stack/stack.ts'

/**
 * Returns the variables that `npm start` sets for the API process and the worker: the addresses and secrets of the
 * embedded parts, and the settings of this process that the CLI must share. The CLI gets these variables through
 * `runtime.json`. The API process and the worker get the other variables of this process too: see
 * `processEnvironment`.
 */
export async function serviceEnvironment(
  config: Config,
  stack: Pick<Stack, 'databaseUrl' | 'temporalAddress' | 'temporalUiUrl'>,
  ports: ServicePorts,
  simulatorUrl: string | undefined,
): Promise<Readonly<Record<string, string>>> {
  const { dataDir } = config
  // An empty variable counts as not set, as in `readConfig`.
  const given = Object.fromEntries(
    Object.entries(inheritedEnvironment()).filter(([, value]) => value !== ''),
  )
  return {
    ...(await channelVariables(config, simulatorUrl)),
    DATA_DIR: dataDir,
    DATABASE_URL: stack.databaseUrl,
    // Left out unless the operator has set it, because its default is DATABASE_URL. If the default were stored here,
    // a CLI command with another DATABASE_URL would still use this database as its session database.
    ...defined({ DATABASE_SESSION_URL: given['DATABASE_SESSION_URL'] }),
    TEMPORAL_ADDRESS: stack.temporalAddress,
    ...defined({ TEMPORAL_UI_URL: stack.temporalUiUrl }),
    TEMPORAL_NAMESPACE: config.temporalNamespace,
    RETENTION_SECONDS: String(config.retentionSeconds),
    TOMBSTONE_SECONDS: String(config.tombstoneSeconds),
    INPUT_RETENTION_SECONDS: String(config.inputRetentionSeconds),
    TASK_DEADLINE_SECONDS: String(config.taskDeadlineSeconds),
    HOST: config.host,
    PORT: String(ports.api),
    PUBLIC_URL: given['PUBLIC_URL'] ?? httpUrl(config.host, ports.api),
    INTERNAL_PORT: String(ports.internal),
    WORKER_INTERNAL_PORT: String(ports.workerInternal),
    BLOB_STORE: config.blobStoreUrl,
    SIGNING_KEYS: given['SIGNING_KEYS'] ?? (await embeddedSecret(dataDir, 'signing-keys')),
    KEY_PEPPER: given['KEY_PEPPER'] ?? (await embeddedSecret(dataDir, 'key-pepper')),
    WEBHOOK_KEYS: given['WEBHOOK_KEYS'] ?? (await embeddedSecret(dataDir, 'webhook-keys')),
    // On a loopback address only programs on this machine can call the API, and receivers usually run here too.
    WEBHOOK_PRIVATE: given['WEBHOOK_PRIVATE'] ?? (isLoopback(config.host) ? 'allow' : 'refuse'),
  }
}

/**
 * The variables of the API or of the worker: those of this process and `environment`. The API gets none that
 * the operator's file names as a credential, because only workers call upstream.
 */
export function processEnvironment(
  name: 'api' | 'worker',
  environment: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const all = { ...inheritedEnvironment(), ...environment }
  if (name === 'worker') return all
  const credentials = new Set(
    credentialVariables(required(all['DARKROOM_CONFIG'], 'DARKROOM_CONFIG')),
  )
  return Object.fromEntries(Object.entries(all).filter(([variable]) => !credentials.has(variable)))
}

/**
 * Returns the variables about channels. The path of the operator's file is made absolute, because the CLI may
 * run in another folder.
 */
async function channelVariables(
  { dataDir, operatorFilePath }: Config,
  simulatorUrl: string | undefined,
): Promise<Readonly<Record<string, string>>> {
  if (simulatorUrl !== undefined) {
    const path = await writeDefaultOperatorFile(dataDir, simulatorUrl)
    return { DARKROOM_CONFIG: path, ...simulatorCredentials }
  }
  return operatorFilePath === undefined ? {} : { DARKROOM_CONFIG: resolve(operatorFilePath) }
}
