import { existsSync } from 'node:fs'
import { chown, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Environment } from './environment.ts'
import { commandAs, type PostgresAccount } from './postgresAccount.ts'
import { runCommand } from './runCommand.ts'
import { startFailure } from './startFailure.ts'

const initdbTimeoutMs = 120_000

/** The superuser of the embedded PostgreSQL. */
export const postgresUser = 'darkroom'

/**
 * Makes the data folder unless it is there. It appears under its name only when it is whole, so a
 * start that was killed half-way begins anew. Throws a start failure with initdb's own words.
 */
export const initPostgres = async (
  { binDir, pgData }: { binDir: string; pgData: string },
  account: PostgresAccount,
  { password, env }: { password: string; env: Environment },
): Promise<void> => {
  if (existsSync(join(pgData, 'PG_VERSION'))) return
  const draft = `${pgData}.new`
  const passwordFile = `${pgData}.password`
  await rm(draft, { recursive: true, force: true })
  await mkdir(draft, { mode: 0o700, recursive: true })
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600 })
  if (account.kind === 'user') {
    await chown(draft, account.uid, account.gid)
    await chown(passwordFile, account.uid, account.gid)
  }
  try {
    const { command, user } = commandAs(account, [
      join(binDir, 'initdb'),
      `--pgdata=${draft}`,
      `--username=${postgresUser}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      // Sorting by code point: no locale of the machine, and no upgrade of it, changes an index.
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
    ])
    const [file, ...args] = command
    const options = { env, timeoutMs: initdbTimeoutMs, cwd: '/' }
    const made = await runCommand(file, args, user ? { ...options, user } : options)
    if (!made.ok) throw startFailure(`initdb failed (${made.end}):\n${made.output}`)
    await rm(pgData, { recursive: true, force: true })
    await rename(draft, pgData)
  } finally {
    await rm(passwordFile, { force: true })
  }
}
