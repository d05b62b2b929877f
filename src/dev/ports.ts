import { once } from 'node:events'
import { createServer } from 'node:net'
import { ConfigError } from '../config/configError.ts'
import { StartError } from './command.ts'
import { innerPortCount } from './temporal.ts'
import type { StartConfig } from './variables.ts'

const portMax = 65_535
/** The real Temporal server keeps the ports of its services in a `smallint`. */
const temporalPortMax = 32_767

/**
 * Looks whether every port that this start needs is free, before any part starts. The caller holds the lock of
 * DATA_DIR, so nothing of an earlier start listens any more. Throws `StartError` when one is in use, or when a host is
 * not an address of this machine, and `ConfigError` when a port is 0. The message names the variable to change.
 */
export async function requireFreePorts(config: StartConfig): Promise<void> {
  const { host, internalHost, temporalPort } = config
  const withTemporal = config.temporalAddress === undefined
  // The real Temporal server needs an embedded PostgreSQL also where Darkroom has one of its own.
  const withPostgres = config.databaseUrl === undefined || withTemporal
  const onApi = { host, hostVariable: 'HOST' }
  const onAdmin = { host: config.adminHost, hostVariable: 'ADMIN_HOST' }
  const onInternal = { host: internalHost, hostVariable: 'INTERNAL_HOST' }
  const wanted: readonly WantedPort[] = [
    { variable: 'PORT', port: config.port, ...onApi },
    { variable: 'ADMIN_PORT', port: config.adminPort, ...onAdmin },
    { variable: 'INTERNAL_PORT', port: config.internalPort, ...onInternal },
    { variable: 'WORKER_INTERNAL_PORT', port: config.workerInternalPort, ...onInternal },
    ...(config.operatorFilePath === undefined
      ? [loopback('SIMULATOR_PORT', config.simulatorPort)]
      : []),
    ...(withPostgres ? [loopback('POSTGRES_PORT', config.postgresPort)] : []),
    ...(withTemporal ? [loopback('TEMPORAL_UI_PORT', config.temporalUiPort)] : []),
    ...Array.from({ length: withTemporal ? innerPortCount + 1 : 0 }, (_, n) =>
      loopback('TEMPORAL_PORT', temporalPort + n),
    ),
  ]
  for (const { variable, port } of wanted) {
    const isTemporal = variable === 'TEMPORAL_PORT'
    if (port >= 1 && port <= (isTemporal ? temporalPortMax : portMax)) continue
    const last = isTemporal ? temporalPortMax - innerPortCount : portMax
    throw new ConfigError(`${variable}: \`npm start\` needs a port from 1 to ${last}`)
  }
  for (const each of wanted) await requireFree(each)
}

/** A port that a part will listen on, with the variables that set it and its host. Not every host can be set. */
type WantedPort = {
  readonly variable: string
  readonly port: number
  readonly host: string
  readonly hostVariable?: string
}

function loopback(variable: string, port: number): WantedPort {
  return { variable, port, host: '127.0.0.1' }
}

async function requireFree({ variable, port, host, hostVariable }: WantedPort): Promise<void> {
  const probe = createServer().listen(port, host)
  const code = await once(probe, 'listening').then(
    () => undefined,
    (error: NodeJS.ErrnoException) => error.code ?? error.message,
  )
  probe.close()
  if (code === undefined) return
  const where = hostVariable === undefined ? host : `${hostVariable} ${host}`
  throw new StartError(
    code === 'EADDRINUSE'
      ? `${variable} ${port} is in use by another program. Stop that program, or set ${variable} to a free port.`
      : // The address belongs to another machine, the host name is unknown, or only root may use the port.
        `${variable} ${port}: listening on ${where} is refused (${code}). Set values that this machine allows.`,
  )
}
