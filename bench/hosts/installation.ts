import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Launch } from '../../src/dev/child.ts'
import { httpFault } from '../../src/dev/child.ts'
import type { Program } from '../../src/dev/command.ts'
import { basicEnvironment } from '../../src/dev/command.ts'
import { withPostgres } from '../../src/dev/postgres.ts'
import type { ServiceName } from '../../src/dev/serviceEnvironment.ts'
import { serviceAllocator, serviceNodeFlags } from '../../src/dev/serviceEnvironment.ts'
import { serverVariables } from '../../src/dev/temporal.ts'
import { prepareDatabases } from '../../src/dev/temporalDatabases.ts'
import { findTemporal } from '../../src/dev/temporalPrograms.ts'
import { readConfig } from '../../src/config/environment.ts'
import { migrate } from '../../src/store/schema/migrate.ts'
import { migrateTemporal } from '../../src/wiring/operateTemporal.ts'
import { s3Bucket, s3Environment, s3Program } from '../../test/support/blobs/s3Server.ts'
import { openCuttableWay } from '../../test/support/cuttableWay.ts'
import { pgBouncerCommand } from '../../test/support/database/pgBouncer.ts'
import {
  simulatorFile,
  upstreamCredentials,
  writeOperatorFile,
} from '../../test/support/service/simulatorFile.ts'
import { ownCheckout } from '../../test/support/service/testProcess.ts'
import { databaseUrl, databaseUser, startDatabases } from './databases.ts'
import type { Host } from './network.ts'
import {
  addressOf,
  detourPortTo,
  hosts,
  openNetwork,
  portOf,
  primaryAddress,
  serverOf,
} from './network.ts'
import { startPart } from './parts.ts'

export type Installation = Awaited<ReturnType<typeof startInstallation>>

export const keyPepper = 'hosts:pepper-of-the-hosts-0123456789'
/** Of a call of the upstream. The longest one takes 80 s. */
const timeoutSeconds = 90
const answerMsMax = 2_000

/** Starts everything, each part on a host of its own, with all data in the folder. */
export async function startInstallation(launch: Launch) {
  const network = await openNetwork()
  const { dataDir: folder } = launch
  const databases = await startDatabases(launch, network)
  const start = (
    host: Host,
    program: Pick<Program, 'file' | 'args' | 'env' | 'cwd'>,
    faultOf: FaultOf,
  ) =>
    startPart({ ...program, host, env: { ...basicEnvironment(), ...program.env }, faultOf }, launch)
  const startNode = (host: Host, args: readonly string[], faultOf: FaultOf, env = {}) =>
    start(host, { file: process.execPath, args, env, cwd: ownCheckout }, faultOf)

  async function startTemporal(): Promise<void> {
    const programs = await findTemporal(launch)
    if (programs.kind !== 'server') throw new Error("there is no Go for Temporal's server")
    const { username: user, password } = databaseUser
    // Temporal's tools want PostgreSQL on this host.
    const way = await openCuttableWay(serverOf(databases.primary()))
    const port = Number(way.address.split(':')[1])
    const url = (database: string) => databaseUrl(way.address, database)
    await prepareDatabases(programs.binDir, { port, user, password, url })
    way.close()
    const host = addressOf('temporal')
    const env = {
      ...serverVariables(portOf.temporal, { user, password, port: portOf.pg1 }),
      POSTGRES_SEEDS: primaryAddress,
      BIND_ON_IP: host,
      TEMPORAL_BROADCAST_ADDRESS: host,
    }
    const config = readConfig({ TEMPORAL_ADDRESS: serverOf('temporal') })
    const program = { file: join(programs.binDir, 'temporal-server'), args: ['start'], env }
    await start(
      'temporal',
      { ...program, cwd: folder },
      works(() => migrateTemporal(config)),
    )
  }

  async function startPgBouncer(): Promise<void> {
    const own = join(folder, 'pgbouncer')
    mkdirSync(own)
    const server = { host: primaryAddress, port: portOf.pg1 }
    const listen = { listen_addr: addressOf('pgbouncer') }
    const [file = '', ...args] = await pgBouncerCommand(own, databaseUser, server, listen)
    const ask = () =>
      withPostgres(databaseUrl(serverOf('pgbouncer')), (one) => one.query('select 1'))
    await start('pgbouncer', { file, args, env: {} }, works(ask))
  }

  const environment = {
    ...upstreamCredentials,
    ...serviceAllocator,
    DATA_DIR: folder,
    DATABASE_URL: databaseUrl(serverOf('pgbouncer')),
    DATABASE_SESSION_URL: databaseUrl(`${primaryAddress}:${portOf.pg1}`),
    TEMPORAL_ADDRESS: serverOf('temporal'),
    ...s3Environment(serverOf('s3')),
    BLOB_STORE: `s3://${s3Bucket}/hosts`,
    SIGNING_KEYS: 'hosts:signing-key-of-the-hosts-0123',
    KEY_PEPPER: keyPepper,
    WEBHOOK_KEYS: 'w1:webhook-key-of-the-hosts-0123456',
    WEBHOOK_PRIVATE: 'allow',
    PUBLIC_URL: `http://${serverOf('api1')}`,
    HOST: '0.0.0.0',
    INTERNAL_HOST: '0.0.0.0',
    LOG_LEVEL: 'warn',
    DARKROOM_CONFIG: await writeOperatorFile(
      join(folder, 'config.json'),
      simulatorFile(`http://${serverOf('upstream')}`, { timeoutSeconds, concurrencyMax: 60 }),
    ),
  }
  const startService = (host: Host, name: ServiceName) =>
    startNode(host, [...serviceNodeFlags, `src/${name}.ts`], answers(host, '/readyz'), environment)

  const simulator = `src/dev/simulator/simulator.ts --tiny --latency 100-3000 --host ${addressOf('upstream')}`
  const ways = hosts.map((host) => [detourPortTo(host), serverOf(host)])
  const migrated = migrate({
    databaseUrl: databaseUrl(serverOf(databases.primary())),
    actor: 'cli:hosts@bench',
  })
  const program = await s3Program(join(folder, 's3'), serverOf('s3'))
  await Promise.all([
    startTemporal(),
    migrated.then(startPgBouncer),
    start('s3', program, answers('s3', '/healthz')),
    startNode(
      'upstream',
      simulator.split(' '),
      answers('upstream', '/__simulator/calls?prompt=none'),
    ),
    startNode('detour', ['bench/hosts/detour.ts', JSON.stringify(ways)], async () => undefined),
  ])
  await Promise.all([
    databases.follow(),
    startService('api1', 'api'),
    startService('api2', 'api'),
    // One after the other: the first one fills the cache of the workflows for the other.
    startService('worker1', 'worker').then(() => startService('worker2', 'worker')),
  ])
  return { network, databases, folder }
}

type FaultOf = () => Promise<string | undefined>

function answers(host: Host, path: string): FaultOf {
  return () => httpFault(`http://${serverOf(host)}${path}`, answerMsMax)
}

function works(ask: () => Promise<unknown>): FaultOf {
  return () => ask().then(() => undefined, String)
}
