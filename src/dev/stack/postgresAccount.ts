import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Environment } from './environment.ts'
import { runCommand } from './runCommand.ts'
import { startFailure } from './startFailure.ts'

/**
 * As whom PostgreSQL runs: it refuses to run as root.
 * - `self`: we are not root.
 * - `namespace`: a user namespace in which root's files belong to an ordinary user. Nothing is
 *   created or handed over, and a folder that only root may enter stays usable.
 * - `user`: a user of its own, where the system refuses user namespaces.
 */
export type PostgresAccount =
  | { kind: 'self' }
  | { kind: 'namespace'; uid: number; gid: number }
  | { kind: 'user'; uid: number; gid: number }

/** The name of the system user made for PostgreSQL where user namespaces are refused. */
const serviceUser = 'darkroom'
const probeTimeoutMs = 10_000

/**
 * Chooses the account. Data that already belongs to another user than root stays that user's.
 * Throws a start failure when root has no way at all.
 */
export const choosePostgresAccount = async (
  pgData: string,
  env: Environment,
): Promise<PostgresAccount> => {
  if (process.getuid?.() !== 0) return { kind: 'self' }
  const owner = statSync(join(pgData, 'PG_VERSION'), { throwIfNoEntry: false })
  if (owner !== undefined && owner.uid !== 0) {
    return { kind: 'user', uid: owner.uid, gid: owner.gid }
  }
  const inside = passwdEntries().find((entry) => entry.uid !== 0)
  if (inside) {
    const account: PostgresAccount = { kind: 'namespace', uid: inside.uid, gid: inside.gid }
    const [file, ...args] = commandAs(account, ['true']).command
    const probe = await runCommand(file, args, { env, timeoutMs: probeTimeoutMs })
    if (probe.ok) return account
  }
  return { kind: 'user', ...(await findOrMakeServiceUser(env)) }
}

/** The command line, and the user to start it as, that run `command` under the account. */
export const commandAs = (
  account: PostgresAccount,
  command: readonly [string, ...string[]],
): { command: readonly [string, ...string[]]; user?: { uid: number; gid: number } } => {
  switch (account.kind) {
    case 'self':
      return { command }
    case 'namespace': {
      const maps = [`--map-user=${account.uid}`, `--map-group=${account.gid}`]
      return { command: ['unshare', '--user', ...maps, '--', ...command] }
    }
    case 'user':
      return { command, user: { uid: account.uid, gid: account.gid } }
    default:
      return account satisfies never
  }
}

const findOrMakeServiceUser = async (env: Environment): Promise<{ uid: number; gid: number }> => {
  const find = () => passwdEntries().find((entry) => entry.name === serviceUser)
  const existing = find()
  if (existing) return existing
  const args = ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin']
  const made = await runCommand('useradd', [...args, serviceUser], {
    env,
    timeoutMs: probeTimeoutMs,
  })
  const user = find()
  if (user) return user
  throw startFailure(
    'PostgreSQL does not run as root, and this system neither allows user namespaces ' +
      `(unshare --user) nor lets a user be made (useradd: ${made.output || made.end}). ` +
      'Start Darkroom as an ordinary user, or set DATABASE_URL to a PostgreSQL of yours.',
  )
}

// initdb looks its user up by number, so the user must be one that the system knows.
const passwdEntries = (): { name: string; uid: number; gid: number }[] => {
  try {
    return readFileSync('/etc/passwd', 'utf8')
      .split('\n')
      .flatMap((line) => {
        const [name = '', , uid = '', gid = ''] = line.split(':')
        return /^\d+$/.test(uid) && /^\d+$/.test(gid)
          ? [{ name, uid: Number(uid), gid: Number(gid) }]
          : []
      })
  } catch {
    return []
  }
}
