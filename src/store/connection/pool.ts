import { Pool, TypeOverrides } from 'pg'

export type PoolOptions = {
  readonly databaseUrl: string
  /** Shown by PostgreSQL in pg_stat_activity: `darkroom-api`, `darkroom-worker`, `darkroom-cli`. */
  readonly applicationName: string
  readonly connectionsMax: number
  /** Idle connections that stay open. Default 0. */
  readonly connectionsMin?: number
  /** Called for every connection that is lost while idle. The pool opens another when it needs one. */
  readonly onConnectionError: (error: Error) => void
  /** Limit for getting a connection, including the wait for a free one. Default 5 s. */
  readonly connectTimeoutMs?: number
  /** Limit for one statement, enforced by the server. Default 10 s. */
  readonly statementTimeoutMs?: number
}

/** Every transaction here holds its locks for milliseconds. A longer wait is a fault. */
const lockTimeoutMs = 8_000
/** Added to the statement timeout for a limit of the client, which works when the network is gone. */
const queryTimeoutExtraMs = 5_000
const idleTimeoutMs = 30_000
const connectionLifetimeSeconds = 1_800

/**
 * The connection pool of one process. It connects at the first query. `bigint` columns are read as
 * numbers; a value outside the safe integer range throws instead of being rounded.
 */
export function createPool(options: PoolOptions): Pool {
  const statementTimeoutMs = options.statementTimeoutMs ?? 10_000
  const pool = new Pool({
    connectionString: options.databaseUrl,
    application_name: options.applicationName,
    max: options.connectionsMax,
    min: options.connectionsMin ?? 0,
    connectionTimeoutMillis: options.connectTimeoutMs ?? 5_000,
    statement_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs + queryTimeoutExtraMs,
    lock_timeout: lockTimeoutMs,
    idle_in_transaction_session_timeout: statementTimeoutMs,
    idleTimeoutMillis: idleTimeoutMs,
    maxLifetimeSeconds: connectionLifetimeSeconds,
    keepAlive: true,
    types: typeParsers(),
  })
  pool.on('error', options.onConnectionError)
  // A connection that is lost between two statements of a transaction emits its own 'error' event.
  // Without a listener that event would end the process. The next statement reports the loss.
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

/**
 * Opens `count` connections at once, so that the first requests do not wait for them. Opens fewer,
 * without an error, when the server allows no more.
 */
export async function openConnections(pool: Pool, count: number): Promise<void> {
  const opening = Array.from({ length: count }, () => pool.connect())
  const opened = await Promise.allSettled(opening)
  for (const each of opened) if (each.status === 'fulfilled') each.value.release()
}

const int8Oid = 20

function typeParsers(): TypeOverrides {
  const overrides = new TypeOverrides()
  overrides.setTypeParser(int8Oid, safeInteger)
  return overrides
}

function safeInteger(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new Error('Bug: a bigint outside the safe range was read')
  return value
}
