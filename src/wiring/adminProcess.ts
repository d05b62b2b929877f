import { convertBlob } from '../bytes/convertImage.ts'
import { isUploadKept } from '../store/uploads.ts'
import { createVariants } from '../tasks/variants.ts'
import { createAdminApp } from '../admin/adminApp.ts'
import type { Config } from '../config/environment.ts'
import { inheritedEnvironment, required } from '../config/environment.ts'
import { ConfigError } from '../config/configError.ts'
import { databasesOf } from './databases.ts'
import { explaining } from './explaining.ts'
import { observeRequests } from '../http/middleware.ts'
import { closeServer, createServer, listen } from '../http/server/server.ts'
import { createOperatorParts } from './operatorParts.ts'
import { createReadiness } from './readiness.ts'
import type { RunningProcess } from './runProcess.ts'
import { openStores } from './stores.ts'
import type { Logger } from '../telemetry/logger.ts'

const connectionsMax = 8
/** Limit for one statement, the same as of the command line: `ledger verify` reads the whole ledger. */
const statementTimeoutMs = 600_000
/** How long a stopping process waits for the requests under way. */
const drainMs = 10_000

/** Starts the process for operators: the admin API and its console. */
export async function startAdmin(config: Config, log: Logger): Promise<RunningProcess> {
  const { adminHost: host, adminPort: port, adminAllowedHosts: allowedHosts } = config
  const keys = required(config.adminKeys, 'ADMIN_KEYS')
  required(config.keyPeppers, 'KEY_PEPPER')
  if (allowedHosts.length === 0 && ['0.0.0.0', '::'].includes(host)) {
    throw new ConfigError(
      `ADMIN_ALLOWED_HOSTS is not set. With ADMIN_HOST ${host} it must list the names by which browsers reach this process.`,
    )
  }
  const { session } = required(databasesOf(config), 'DATABASE_URL')
  const parts = createOperatorParts(config, inheritedEnvironment())
  // A wrong operator's file ends the start, because later the log would not say what is wrong with it.
  parts.channels()
  const stores = await openStores(config, log, {
    database: session,
    applicationName: 'darkroom-admin',
    connectionsMax,
    statementTimeoutMs,
  })
  const { pool, blobs } = stores
  const look = createReadiness(stores)
  const variants = createVariants({
    blobs,
    isUploadKept: (uploadId) => isUploadKept(pool, uploadId),
    convert: convertBlob,
  })
  const app = createAdminApp({
    keys,
    operatorOf: (keyId) => ({
      ...parts,
      pool,
      openBlobs: async () => blobs,
      variants,
      actor: `admin:${keyId}`,
    }),
    host,
    allowedHosts,
    ready: async () => (await look()).ready,
    observe: observeRequests({ log }),
    reportError: (error, { requestId, route }) =>
      log.error('request failed unexpectedly', { requestId, route, error }),
  })
  const server = createServer(app, {
    silentMsMax: config.syncDeadlineSeconds * 1000,
    anyOrigin: false,
  })
  const listening = await listen(server, { host, port }).catch(
    explaining(`ADMIN_HOST ${host}, ADMIN_PORT ${port}`),
  )
  log.info('admin ready', { port: listening })
  return {
    ended: new Promise(() => {}),
    stop: async () => {
      await closeServer(server, drainMs)
      await stores.close()
    },
  }
}
