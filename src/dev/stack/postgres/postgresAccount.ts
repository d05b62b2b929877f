import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { assertNever } from '../../../domain/assertNever.ts'
import { defined } from '../../../domain/defined.ts'
import type { CommandResult, SystemUser } from '../runCommand.ts'
import { runCommand } from '../runCommand.ts'
import { StartError } from '../startError.ts'

/**
 * The account under which PostgreSQL runs. PostgreSQL refuses to run as root.
 * - `self`: this process does not run as root, and PostgreSQL runs under the same account.
 * - `namespace`: this process runs as root, and PostgreSQL runs in a user namespace. There, root's files
 *   belong to an ordinary user. So no user is created, no file gets another owner, and PostgreSQL can use a
 *   folder that only root may enter.
 * - `user`: a system user. This is used where the system does not allow user namespaces, as in most
 *   containers.
 */
export type PostgresAccount =
  | { readonly kind: 'self' }
  | ({ readonly kind: 'namespace' } & SystemUser)
  | ({ readonly kind: 'user' } & SystemUser)

type Command = readonly [file: string, ...args: string[]]
type RunOptions = { readonly env: Readonly<Record<string, string>>; readonly timeoutMs: number }

/** The system user that is created for PostgreSQL when user namespaces are not allowed. */
const serviceUser = 'darkroom'
const probeTimeoutMs = 10_000

/**
 * Chooses the account. When this process runs as root and existing data belongs to another user, chooses that user.
 * Throws `StartError` when this process runs as root and the system allows no other account.
 */
export async function choosePostgresAccount(
  pgData: string,
  env: Readonly<Record<string, string>>,
): Promise<PostgresAccount> {
  if (process.getuid?.() !== 0) return { kind: 'self' }
  const data = statSync(join(pgData, 'PG_VERSION'), { throwIfNoEntry: false })
  if (data !== undefined && data.uid !== 0) return { kind: 'user', uid: data.uid, gid: data.gid }
  const inside = systemUsers().find((user) => user.uid !== 0)
  if (inside !== undefined) {
    const account = { kind: 'namespace', uid: inside.uid, gid: inside.gid } as const
    if ((await runAs(account, ['true'], { env, timeoutMs: probeTimeoutMs })).ok) return account
  }
  const { uid, gid } = await findOrMakeServiceUser(env)
  return { kind: 'user', uid, gid }
}

/** Returns the command line that runs `command` under the account, and the user who must start it. */
export function commandAs(
  account: PostgresAccount,
  command: Command,
): { readonly command: Command; readonly user?: SystemUser } {
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
      return assertNever(account)
  }
}

/**
 * Runs a command under the account and waits for its end. The command runs in the folder `/`, because the
 * account may not be allowed to enter the working folder of this process.
 */
export function runAs(
  account: PostgresAccount,
  command: Command,
  { env, timeoutMs }: RunOptions,
): Promise<CommandResult> {
  const { command: line, user } = commandAs(account, command)
  const [file, ...args] = line
  return runCommand(file, args, { env, timeoutMs, cwd: '/', ...defined({ user }) })
}

async function findOrMakeServiceUser(env: Readonly<Record<string, string>>): Promise<SystemUser> {
  const find = () => systemUsers().find((user) => user.name === serviceUser)
  const existing = find()
  if (existing !== undefined) return existing
  const args = ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin']
  const made = await runCommand('useradd', [...args, serviceUser], {
    env,
    timeoutMs: probeTimeoutMs,
  })
  const user = find()
  if (user !== undefined) return user
  throw new StartError(
    'PostgreSQL does not run as root, and this system neither allows user namespaces ' +
      `(unshare --user) nor creates a user for it (useradd: ${made.output || made.end}). ` +
      'Start Darkroom as an ordinary user, or set DATABASE_URL to a PostgreSQL server of your own.',
  )
}

/**
 * Returns the users in /etc/passwd. PostgreSQL needs one of them, because initdb looks up its user by number
 * and fails for a number without a user.
 */
function systemUsers(): readonly (SystemUser & { readonly name: string })[] {
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
