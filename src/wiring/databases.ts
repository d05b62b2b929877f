import type { Config } from '../config/environment.ts'
import { explaining } from './explaining.ts'

/** One way to PostgreSQL: its URL, and the variable of the environment that has it. */
export type Database = {
  readonly url: string
  readonly variable: 'DATABASE_URL' | 'DATABASE_SESSION_URL'
}

/**
 * Returns the two ways to PostgreSQL, or `undefined` when DATABASE_URL is not set. `main` may lead to a pooler in
 * transaction mode. `session` leads to PostgreSQL itself: for notifications, for beats, and for commands, which
 * run long statements. Both are the same unless DATABASE_SESSION_URL is set.
 */
export function databasesOf({
  databaseUrl,
  databaseSessionUrl = databaseUrl,
}: Pick<Config, 'databaseUrl' | 'databaseSessionUrl'>) {
  if (databaseUrl === undefined || databaseSessionUrl === undefined) return undefined
  const main: Database = { url: databaseUrl, variable: 'DATABASE_URL' }
  if (databaseSessionUrl === databaseUrl) return { main, session: main }
  const session: Database = { url: databaseSessionUrl, variable: 'DATABASE_SESSION_URL' }
  return { main, session }
}

/**
 * Returns what `ask` returns. When PostgreSQL cannot be used, throws an error that names its host and its variable,
 * and, when a pooler refuses the connection, what to set. Other errors of `ask` are thrown as they are.
 */
export async function reached<Value>(
  { url, variable }: Database,
  ask: () => Promise<Value>,
): Promise<Value> {
  try {
    return await ask()
  } catch (error) {
    const place = `PostgreSQL at ${hostOf(url)} (${variable})`
    // PgBouncer in transaction mode cannot keep a setting such as `statement_timeout` for one client.
    if (error instanceof Error && error.message.includes('unsupported startup parameter')) {
      return explaining(
        `A pooler before ${place} refuses the connection. Set DATABASE_SESSION_URL to PostgreSQL itself`,
      )(error)
    }
    if (!isConnectionError(error)) throw error
    return explaining(`${place} cannot be reached`)(error)
  }
}

/**
 * The SQLSTATE classes that mean "PostgreSQL cannot be used now": 08 connection, 28 authorization, 3D no such
 * database, 53 no resources, 57 shutdown (PostgreSQL documentation, Appendix A); and the system's own codes.
 */
const connectionCodes = /^(?:(?:08|28|3D|53|57)|E[A-Z_]+$)/

/** Returns false for an error of a statement itself. */
function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return connectionCodes.test(code) || /timeout|terminated/i.test(error.message)
}

/** Returns the host and the port in a database's URL, for people. A Unix socket's folder is percent-encoded there. */
function hostOf(url: string): string {
  const { host } = new URL(url)
  return /^%2f/i.test(host) ? decodeURIComponent(host) : host
}
