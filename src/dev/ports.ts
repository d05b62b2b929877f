import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config.ts'
import { ConfigError } from '../config/configError.ts'
import { StartError } from './child.ts'
import { innerPortCount } from './temporal.ts'

/** One port on which a part of this start will listen, and the variables that choose it. */
type WantedPort = {
  readonly variable: string
  readonly port: number
  readonly host?: { readonly variable: string; readonly address: string }
}

const portMax = 65_535
const loopbackHost = '127.0.0.1'
/**
 * How many times to try a port, and the pause between two tries. Together almost three seconds: long enough for the
 * processes of a start that was just killed to end and free their ports.
 */
const triesMax = 10
const pauseMs = 300

/**
 * Looks whether every port that this start needs is free, before any part starts. Throws `StartError` when one is in
 * use, or when a host is not an address of this machine, and `ConfigError` when a port is 0. The message names the
 * variable to change.
 */
export async function requireFreePorts(config: Config): Promise<void> {
  const wanted = wantedPorts(config)
  for (const { variable, port } of wanted) {
    if (port >= 1 && port <= portMax) continue
    const last = portMax - innerPortCount
    throw new ConfigError(`${variable}: \`npm start\` needs a port from 1 to ${last}`)
  }
  for (let tries = 1; ; tries += 1) {
    const fault = await firstFault(wanted)
    if (fault === undefined) return
    if (tries >= triesMax) throw new StartError(fault)
    await sleep(pauseMs)
  }
}

async function firstFault(wanted: readonly WantedPort[]): Promise<string | undefined> {
  for (const each of wanted) {
    const fault = await faultOf(each)
    if (fault !== undefined) return fault
  }
  return undefined
}

function wantedPorts(config: Config): readonly WantedPort[] {
  const host = { variable: 'HOST', address: config.host }
  const internalHost = { variable: 'INTERNAL_HOST', address: config.internalHost }
  const withTemporal = config.temporalAddress === undefined
  const temporalPorts = Array.from({ length: 1 + innerPortCount }, (_, index) => ({
    variable: 'TEMPORAL_PORT',
    port: config.temporalPort + index,
  }))
  return [
    { variable: 'PORT', port: config.port, host },
    { variable: 'INTERNAL_PORT', port: config.internalPort, host: internalHost },
    { variable: 'WORKER_INTERNAL_PORT', port: config.workerInternalPort, host: internalHost },
    ...(config.operatorFilePath === undefined
      ? [{ variable: 'SIMULATOR_PORT', port: config.simulatorPort }]
      : []),
    // The real Temporal server needs an embedded PostgreSQL also where Darkroom has one of its own.
    ...(config.databaseUrl === undefined || withTemporal
      ? [{ variable: 'POSTGRES_PORT', port: config.postgresPort }]
      : []),
    ...(withTemporal
      ? [...temporalPorts, { variable: 'TEMPORAL_UI_PORT', port: config.temporalUiPort }]
      : []),
  ]
}

async function faultOf({ variable, port, host }: WantedPort): Promise<string | undefined> {
  const address = host?.address ?? loopbackHost
  const code = await listenFault(port, address)
  if (code === undefined) return undefined
  if (code === 'EADDRINUSE') {
    return `${variable} ${port} is in use by another program. Stop that program, or set ${variable} to a free port.`
  }
  // Possible reasons: the address belongs to another machine, the host name is unknown, or only root may use the port.
  const names = host === undefined ? variable : `${host.variable} or ${variable}`
  const where = host === undefined ? address : `${host.variable} ${address}`
  return (
    `${variable} ${port}: listening on ${where} is refused (${code}). ` +
    `Set ${names} to a value that this machine allows.`
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
