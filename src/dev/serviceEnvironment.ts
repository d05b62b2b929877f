import type { Config } from '../config.ts'
import { inheritedEnvironment } from '../config.ts'
import { embeddedSecret } from './embeddedSecrets.ts'
import type { OwnPorts } from './ownPorts.ts'
import { simulatorCredentials, writeSimulatorChannels } from './simulatorChannels.ts'
import type { Stack } from './stack/stack.ts'

/**
 * The variables that the embedded parts set for our own processes, and for the CLI through
 * `runtime.json`. What the operator has set stands: these are only the ones they left out.
 */
export async function serviceEnvironment(
  config: Config,
  stack: Pick<Stack, 'databaseUrl' | 'temporalAddress' | 'temporalUiUrl'>,
  ports: OwnPorts,
  simulatorUrl: string | undefined,
): Promise<Record<string, string>> {
  const { dataDir } = config
  const given = inheritedEnvironment()
  const publicUrl = given['PUBLIC_URL'] ?? `http://${config.host}:${ports.api}`
  const simulated =
    simulatorUrl === undefined
      ? {}
      : {
          DARKROOM_CONFIG: await writeSimulatorChannels(dataDir, simulatorUrl),
          ...simulatorCredentials,
        }
  return {
    ...simulated,
    DATA_DIR: dataDir,
    DATABASE_URL: stack.databaseUrl,
    TEMPORAL_ADDRESS: stack.temporalAddress,
    ...(stack.temporalUiUrl === undefined ? {} : { TEMPORAL_UI_URL: stack.temporalUiUrl }),
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
