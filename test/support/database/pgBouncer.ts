import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../ports.ts'
import { withPostgres } from '../../../src/dev/postgres.ts'
import { until } from '../timing.ts'

/** Where Debian installs PgBouncer. */
export const pgBouncerProgram = '/usr/sbin/pgbouncer'

/** PgBouncer in transaction mode, with the documented settings. */
export function createPgBouncer() {
  let running: { readonly child: ChildProcess; readonly folder: string } | undefined
  return {
    /** Starts it in front of PostgreSQL, and returns the same address through it. */
    start: async (databaseUrl: string): Promise<string> => {
      const { url, ...started } = await startPgBouncer(databaseUrl)
      running = started
      return url
    },
    stop: async (): Promise<void> => {
      running?.child.kill()
      if (running !== undefined) await rm(running.folder, { recursive: true, force: true })
    },
  }
}

const settingsFile = new URL('../../../deploy/pgbouncer.ini', import.meta.url)

async function startPgBouncer(databaseUrl: string) {
  const direct = new URL(databaseUrl)
  const port = await freePort()
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-pooler-'))
  const server = { host: '127.0.0.1', port: direct.port }
  const listen = { listen_addr: '127.0.0.1', listen_port: String(port) }
  // Fewer than the tests have calls at once.
  const given = { ...listen, default_pool_size: '10' }
  const [file = '', ...args] = await pgBouncerCommand(folder, direct, server, given)
  const child = spawn(file, args, { stdio: 'ignore' })
  const through = new URL(databaseUrl)
  through.hostname = '127.0.0.1'
  through.port = String(port)
  const ask = () => withPostgres(through.href, (connected) => connected.query('select 1'))
  await until('PgBouncer', () => ask().catch(() => undefined))
  return { url: through.href, child, folder }
}

/** Writes the documented settings, some of them changed, into a folder, and returns the command line that runs on them. */
export async function pgBouncerCommand(
  folder: string,
  { username, password }: Pick<URL, 'username' | 'password'>,
  server: { readonly host: string; readonly port: number | string },
  changed: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const users = join(folder, 'users.txt')
  const settings = join(folder, 'pgbouncer.ini')
  await writeFile(users, `"${username}" "${decodeURIComponent(password)}"\n`)
  const values: Readonly<Record<string, string>> = {
    auth_type: 'trust',
    auth_file: users,
    ...changed,
  }
  const documented = readFileSync(settingsFile, 'utf8')
    .replace(/^darkroom = .*$/m, `* = host=${server.host} port=${server.port}`)
    .replace(/^(\w+) = .*$/gm, (line, name: string) =>
      values[name] === undefined ? line : `${name} = ${values[name]}`,
    )
  await writeFile(settings, `${documented}unix_socket_dir =\nadmin_users = ${username}\n`)
  // PgBouncer does not run as root.
  for (const path of [folder, users, settings]) await chmod(path, 0o755)
  const asOther = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
  return [pgBouncerProgram, ...asOther, settings]
}
