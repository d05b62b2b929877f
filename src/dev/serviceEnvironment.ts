import { resolve } from 'node:path'
import type { Config } from '../config.ts'
import { httpUrl, inheritedEnvironment } from '../config.ts'
import { embeddedSecret } from './embeddedSecrets.ts'
import type { OwnPorts } from './ownPorts.ts'
import { simulatorCredentials, writeSimulatorChannels } from './simulatorChannels.ts'
import type { Stack } from './stack/stack.ts'

/**
 * The variables of our own processes, and of the CLI through `runtime.json`: addresses and secrets of
 * the embedded parts, and what the CLI must know as the processes do, whoever has set it.
 */
export async function serviceEnvironment(
  config: Config,
  stack: Pick<Stack, 'databaseUrl' | 'temporalAddress' | 'temporalUiUrl'>,
  ports: OwnPorts,
  simulatorUrl: string | undefined,
): Promise<Record<string, string>> {
  const { dataDir } = config
  // An empty variable counts as absent, here as in `readConfig`.
  const given = Object.fromEntries(
    Object.entries(inheritedEnvironment()).filter(([, value]) => value !== ''),
  )
  const publicUrl = given['PUBLIC_URL'] ?? httpUrl(config.host, ports.api)
  return {
    ...(await channelVariables(config, simulatorUrl)),
    DATA_DIR: dataDir,
    DATABASE_URL: stack.databaseUrl,
    TEMPORAL_ADDRESS: stack.temporalAddress,
    ...(stack.temporalUiUrl === undefined ? {} : { TEMPORAL_UI_URL: stack.temporalUiUrl }),
    TEMPORAL_NAMESPACE: config.temporalNamespace,
    RETENTION_SECONDS: String(config.retentionSeconds),
    TOMBSTONE_SECONDS: String(config.tombstoneSeconds),
    TASK_DEADLINE_SECONDS: String(config.taskDeadlineSeconds),
    HOST: config.host,
    PORT: String(ports.api),
    PUBLIC_URL: publicUrl,
    INTERNAL_PORT: String(ports.internal),
    WORKER_INTERNAL_PORT: String(ports.workerInternal),
    BLOB_STORE: config.blobStoreUrl,
    SIGNING_KEYS: given['SIGNING_KEYS'] ?? (await embeddedSecret(dataDir, 'signing-keys')),
    KEY_PEPPER: given['KEY_PEPPER'] ?? (await embeddedSecret(dataDir, 'key-pepper')),
  }
}

/** The operator's file, absolute since the CLI may run elsewhere; without one, the simulator's. */
async function channelVariables(
  { dataDir, operatorFilePath }: Config,
  simulatorUrl: string | undefined,
): Promise<Record<string, string>> {
  if (simulatorUrl !== undefined) {
    const path = await writeSimulatorChannels(dataDir, simulatorUrl)
    return { DARKROOM_CONFIG: path, ...simulatorCredentials }
  }
  return operatorFilePath === undefined ? {} : { DARKROOM_CONFIG: resolve(operatorFilePath) }
}
