import { appendFileSync, rmSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Launch } from '../../src/dev/child.ts'
import { basicEnvironment, runCommand } from '../../src/dev/command.ts'
import {
  findPostgres,
  initializePostgres,
  withoutRoot,
  withPostgres,
} from '../../src/dev/postgres.ts'
import { until } from '../../test/support/timing.ts'
import type { Host, Network } from './network.ts'
import { addressOf, hosts, hostsRange, serverOf } from './network.ts'
import type { Part } from './parts.ts'
import { startPart } from './parts.ts'

export type Databases = Awaited<ReturnType<typeof startDatabases>>
type Server = 'pg1' | 'pg2'

/** The superuser that `initializePostgres` makes. */
export const databaseUser = { username: 'darkroom', password: 'of-these-hosts-alone' } as const
const stepMsMax = 120_000
const roleTimeouts = [
  `statement_timeout = '10s'`,
  `lock_timeout = '8s'`,
  `idle_in_transaction_session_timeout = '10s'`,
]

/** Returns the address of a database at a server. */
export function databaseUrl(address: string, database = 'darkroom'): string {
  const { username, password } = databaseUser
  return `postgres://${username}:${password}@${address}/${database}`
}

const settings = {
  listen_addresses: '*',
  max_connections: 300,
  shared_buffers: '256MB',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  unix_socket_directories: '',
  // A standby takes what it missed from here.
  wal_keep_size: '512MB',
  max_wal_size: '512MB',
  wal_sender_timeout: '10s',
  wal_receiver_timeout: '10s',
  // The two rest of clients that a cut has taken away.
  tcp_keepalives_idle: 10,
  tcp_keepalives_interval: 5,
  tcp_keepalives_count: 3,
  tcp_user_timeout: '30s',
}

/**
 * Starts a primary with a synchronous standby. This process is what a cluster manager is in production: it promotes the
 * standby, leads everybody to it, and makes the old primary its standby.
 */
export async function startDatabases(launch: Launch, network: Network) {
  const env = basicEnvironment()
  const as = await withoutRoot(env)
  const binDir = join(findPostgres(), 'bin')
  const parts = new Map<Server, Part>()
  let [primary, standby]: readonly [Server, Server] = ['pg1', 'pg2']
  const dataOf = (server: Server) => join(launch.dataDir, server, 'data')
  const sql = (server: Server, text: string) =>
    withPostgres(databaseUrl(serverOf(server), 'postgres'), (client) => client.query(text))

  /** What only this server has. PostgreSQL reads it when it starts, and when it is told to. */
  function configure(server: Server, given: Readonly<Record<string, string>>): void {
    const lines = Object.entries(given).map(([name, value]) => `${name} = '${value}'\n`)
    writeFileSync(join(dataOf(server), 'postgresql.auto.conf'), lines.join(''))
  }

  async function start(server: Server): Promise<void> {
    const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const part = {
      host: server,
      file: join(binDir, 'postgres'),
      args: ['-D', dataOf(server), ...args],
      env,
      cwd: '/',
      as,
      endSignal: 'SIGQUIT',
      faultOf: () => sql(server, 'select 1').then(() => undefined, String),
    } as const
    parts.set(server, await startPart(part, launch))
  }

  async function end(server: Server): Promise<void> {
    await parts.get(server)?.end()
    rmSync(join(dataOf(server), 'postmaster.pid'), { force: true })
  }

  /** Copies the primary to the other server, which follows it from then on. */
  async function follow(): Promise<void> {
    await rm(dataOf(standby), { recursive: true, force: true })
    await withPostgres(databaseUrl(serverOf(primary), 'postgres'), async (client) => {
      await client.query(`select pg_backup_start('standby', true)`)
      // It ends with 1, because files go meanwhile.
      await runCommand('cp', ['-a', dataOf(primary), dataOf(standby)], {
        env,
        timeoutMs: stepMsMax,
      })
      const { rows } = await client.query<{ labelfile: string }>(
        `select labelfile from pg_backup_stop(false)`,
      )
      writeFileSync(join(dataOf(standby), 'backup_label'), rows[0]?.labelfile ?? '')
    })
    rmSync(join(dataOf(standby), 'postmaster.pid'), { force: true })
    writeFileSync(join(dataOf(standby), 'standby.signal'), '')
    const { username, password } = databaseUser
    const primary_conninfo = `host=${addressOf(primary)} user=${username} password=${password}`
    configure(standby, { primary_conninfo })
    await start(standby)
    configure(primary, { synchronous_standby_names: '*' })
    await sql(primary, 'select pg_reload_conf()')
    await inStep()
  }

  /** Waits until the standby has everything that is committed. */
  async function inStep(): Promise<void> {
    const query = `select from pg_stat_replication where sync_state = 'sync'`
    const ask = async () => (await sql(primary, query)).rowCount || undefined
    await until('a synchronous standby', () => ask().catch(() => undefined), stepMsMax)
  }

  /**
   * Makes the standby the primary, and the old primary, which may not know it for a while, its standby. `killed`: the old
   * one is gone. `returned`: it comes back and is a second primary. `alone`: it never stopped, only its standby and this
   * process lost it, and half of the others still use it for `staysMs`.
   */
  async function failOver(how: 'killed' | 'returned' | 'alone', staysMs: number): Promise<void> {
    await inStep()
    const old = primary
    const heal =
      how === 'alone'
        ? await network.trouble(
            { kind: 'cut', from: old, to: standby },
            { kind: 'cut', from: standby, to: old },
          )
        : undefined
    if (how !== 'alone') await end(old)
    await again(() => sql(standby, `select pg_promote(true, 60)`))
    ;[primary, standby] = [standby, primary]
    const late: readonly Host[] = how === 'alone' ? ['api2', 'worker2', 'temporal'] : []
    await network.lead(
      primary,
      hosts.filter((host) => !late.includes(host)),
    )
    const console = databaseUrl(serverOf('pgbouncer'), 'pgbouncer')
    await again(() => withPostgres(console, (client) => client.query('reconnect')))
    if (how === 'returned') await again(() => start(old))
    if (how !== 'killed') await sleep(staysMs)
    await network.lead(primary, late)
    if (how !== 'killed') await end(old)
    await heal?.()
    await again(follow)
  }

  await initializePostgres(
    { binDir, pgData: dataOf(primary), password: databaseUser.password },
    { env, within: as },
  )
  appendFileSync(
    join(dataOf(primary), 'pg_hba.conf'),
    `host all,replication all ${hostsRange} scram-sha-256\n`,
  )
  await start(primary)
  await sql(primary, 'create database darkroom')
  // As docs/operating.md says for a pooler.
  for (const timeout of roleTimeouts) {
    await sql(primary, `alter role ${databaseUser.username} in database darkroom set ${timeout}`)
  }
  return { follow, failOver, primary: () => primary, standby: () => standby }
}

/** Tries again what a fault has stopped, as a cluster manager does. */
function again(work: () => Promise<unknown>): Promise<true> {
  const once = () =>
    work().then(
      () => true as const,
      () => undefined,
    )
  return until('a step of a failover', once, stepMsMax)
}
