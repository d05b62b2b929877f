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

const given = new URL('../../../deploy/pgbouncer.ini', import.meta.url)

async function startPgBouncer(databaseUrl: string) {
  const direct = new URL(databaseUrl)
  const port = await freePort()
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-pooler-'))
  const users = join(folder, 'users.txt')
  const settings = join(folder, 'pgbouncer.ini')
  await writeFile(users, `"${direct.username}" "${decodeURIComponent(direct.password)}"\n`)
  const values: Readonly<Record<string, string>> = {
    listen_addr: '127.0.0.1',
    listen_port: String(port),
    auth_type: 'trust',
    auth_file: users,
    // Fewer than the tests have calls at once.
    default_pool_size: '10',
  }
  const documented = readFileSync(given, 'utf8')
    .replace(/^darkroom = .*$/m, `* = host=127.0.0.1 port=${direct.port}`)
    .replace(/^(\w+) = .*$/gm, (line, name: string) =>
      values[name] === undefined ? line : `${name} = ${values[name]}`,
    )
  await writeFile(settings, `${documented}unix_socket_dir =\n`)
  // PgBouncer does not run as root.
  for (const path of [folder, users, settings]) await chmod(path, 0o755)
  const asOther = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
  const child = spawn(pgBouncerProgram, [...asOther, settings], { stdio: 'ignore' })
  const through = new URL(databaseUrl)
  through.hostname = '127.0.0.1'
  through.port = String(port)
  const ask = () => withPostgres(through.href, (connected) => connected.query('select 1'))
  await until('PgBouncer', () => ask().catch(() => undefined))
  return { url: through.href, child, folder }
}
