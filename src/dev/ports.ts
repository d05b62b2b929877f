import { createServer } from 'node:net'
import type { Config } from '../config.ts'
import { ConfigError } from '../config/configError.ts'
import { StartError } from './command.ts'
import { innerPortCount } from './temporal.ts'

/** One port on which a part of this start will listen, and the variables that choose it. */
type WantedPort = {
  readonly variable: string
  readonly port: number
  readonly host: string
  readonly hostVariable?: string
}

const portMax = 65_535

/**
 * Looks whether every port that this start needs is free, before any part starts. The caller holds the lock of
 * DATA_DIR, so nothing of an earlier start listens any more. Throws `StartError` when
 * one is in use, or when a host is not an address of this machine, and `ConfigError` when a port is 0. The
 * message names the variable to change.
 */
export async function requireFreePorts(config: Config): Promise<void> {
  const wanted = wantedPorts(config)
  const invalid = wanted.find(({ port }) => port < 1 || port > portMax)
  if (invalid !== undefined) {
    const last = portMax - innerPortCount
    throw new ConfigError(`${invalid.variable}: \`npm start\` needs a port from 1 to ${last}`)
  }
  for (const each of wanted) await requireFree(each)
}

function wantedPorts(config: Config): readonly WantedPort[] {
  const { host, internalHost, temporalPort } = config
  const loopback = { host: '127.0.0.1' }
  const inner = { host: internalHost, hostVariable: 'INTERNAL_HOST' }
  const wanted: WantedPort[] = [
    { variable: 'PORT', port: config.port, host, hostVariable: 'HOST' },
    { variable: 'INTERNAL_PORT', port: config.internalPort, ...inner },
    { variable: 'WORKER_INTERNAL_PORT', port: config.workerInternalPort, ...inner },
  ]
  if (config.operatorFilePath === undefined) {
    wanted.push({ variable: 'SIMULATOR_PORT', port: config.simulatorPort, ...loopback })
  }
  const withTemporal = config.temporalAddress === undefined
  // The real Temporal server needs an embedded PostgreSQL also where Darkroom has one of its own.
  if (config.databaseUrl === undefined || withTemporal) {
    wanted.push({ variable: 'POSTGRES_PORT', port: config.postgresPort, ...loopback })
  }
  if (withTemporal) {
    for (let port = temporalPort; port <= temporalPort + innerPortCount; port += 1) {
      wanted.push({ variable: 'TEMPORAL_PORT', port, ...loopback })
    }
    wanted.push({ variable: 'TEMPORAL_UI_PORT', port: config.temporalUiPort, ...loopback })
  }
  return wanted
}

async function requireFree({ variable, port, host, hostVariable }: WantedPort): Promise<void> {
  const code = await listenFault(port, host)
  if (code === undefined) return
  if (code === 'EADDRINUSE') {
    throw new StartError(
      `${variable} ${port} is in use by another program. ` +
        `Stop that program, or set ${variable} to a free port.`,
    )
  }
  // Possible reasons: the address belongs to another machine, the host name is unknown, or only root may use
  // the port.
  const where = hostVariable === undefined ? host : `${hostVariable} ${host}`
  const names = hostVariable === undefined ? variable : `${hostVariable} or ${variable}`
  throw new StartError(
    `${variable} ${port}: listening on ${where} is refused (${code}). ` +
      `Set ${names} to a value that this machine allows.`,
  )
}

/** Returns the system's error code when a server cannot listen on that port, and `undefined` when it can. */
function listenFault(port: number, host: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    probe.listen(port, host, () => probe.close(() => resolve(undefined)))
  })
}
