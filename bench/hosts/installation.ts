import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Launch } from '../../src/dev/child.ts'
import { httpFault } from '../../src/dev/child.ts'
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
/** Of a call of the upstream. The longest one takes 30 s. */
const timeoutSeconds = 40
const answerMsMax = 2_000

/** Starts everything, each part on a host of its own, with all data in the folder. */
export async function startInstallation(launch: Launch) {
  const network = await openNetwork()
  const { dataDir: folder } = launch
  const databases = await startDatabases(launch, network)
  const runNode = (
    host: Host,
    script: string,
    args: readonly string[],
    env: Readonly<Record<string, string>>,
    faultOf: () => Promise<string | undefined>,
    flags: readonly string[] = [],
  ) =>
    startPart(
      {
        host,
        file: process.execPath,
        args: [...flags, join(ownCheckout, script), ...args],
        env: { ...basicEnvironment(), ...env },
        faultOf,
      },
      launch,
    )

  async function startTemporal(): Promise<void> {
    const programs = await findTemporal(launch)
    if (programs.kind !== 'server')
      throw new Error("Go builds Temporal's server, and it is not there")
    // Temporal's tools have the address of an embedded PostgreSQL.
    const way = await openCuttableWay(serverOf(databases.primary()))
    const port = Number(way.address.split(':')[1])
    const given = { port, user: databaseUser.username, password: databaseUser.password }
    await prepareDatabases(programs.binDir, {
      ...given,
      url: (database) => databaseUrl(way.address, database),
    })
    way.close()
    const host = addressOf('temporal')
    const env = {
      ...basicEnvironment(),
      ...serverVariables(portOf.temporal, { ...given, port: portOf.pg1 }),
      POSTGRES_SEEDS: primaryAddress,
      BIND_ON_IP: host,
      TEMPORAL_BROADCAST_ADDRESS: host,
    }
    const config = readConfig({ TEMPORAL_ADDRESS: serverOf('temporal') })
    const faultOf = () => migrateTemporal(config).then(() => undefined, String)
    await startPart(
      {
        host: 'temporal',
        file: join(programs.binDir, 'temporal-server'),
        args: ['start'],
        env,
        cwd: folder,
        faultOf,
      },
      launch,
    )
  }

  async function startPgBouncer(): Promise<void> {
    const own = join(folder, 'pgbouncer')
    mkdirSync(own)
    const server = { host: primaryAddress, port: portOf.pg1 }
    const [file = '', ...args] = await pgBouncerCommand(own, databaseUser, server, {
      listen_addr: addressOf('pgbouncer'),
    })
    const ask = () =>
      withPostgres(databaseUrl(serverOf('pgbouncer')), (client) => client.query('select 1'))
    await startPart(
      {
        host: 'pgbouncer',
        file,
        args,
        env: basicEnvironment(),
        faultOf: () => ask().then(() => undefined, String),
      },
      launch,
    )
  }

  async function startS3(): Promise<void> {
    const own = join(folder, 's3')
    const program = await s3Program(own, serverOf('s3'))
    await startPart(
      {
        ...program,
        host: 's3',
        faultOf: () => httpFault(`http://${serverOf('s3')}/healthz`, answerMsMax),
      },
      launch,
    )
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
    runNode(
      host,
      `src/${name}.ts`,
      [],
      environment,
      () => httpFault(`http://${serverOf(host)}/readyz`, answerMsMax),
      serviceNodeFlags[name],
    )

  const simulator = `http://${serverOf('upstream')}/__simulator/calls?prompt=none`
  const upstreamArgs = [
    '--host',
    addressOf('upstream'),
    '--port',
    String(portOf.upstream),
    '--tiny',
    '--latency',
    '100-3000',
  ]
  const ways = hosts.map((host) => [detourPortTo(host), serverOf(host)])
  await Promise.all([
    startTemporal(),
    startS3(),
    runNode('upstream', 'src/dev/simulator/simulator.ts', upstreamArgs, {}, () =>
      httpFault(simulator, answerMsMax),
    ),
    runNode('detour', 'bench/hosts/detour.ts', [JSON.stringify(ways)], {}, async () => undefined),
    migrate({
      databaseUrl: databaseUrl(serverOf(databases.primary())),
      actor: 'cli:hosts@bench',
    }).then(startPgBouncer),
  ])
  await Promise.all([
    databases.follow(),
    startService('api1', 'api'),
    startService('api2', 'api'),
    // One after the other: the first one fills the cache of the workflows for the other.
    startService('worker1', 'worker').then(() => startService('worker2', 'worker')),
  ])
  return { network, databases, folder, environment }
}
