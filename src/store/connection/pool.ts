import { Pool, TypeOverrides } from 'pg'

export type PoolOptions = {
  readonly databaseUrl: string
  /** Shown by PostgreSQL in pg_stat_activity: `darkroom-api`, `darkroom-worker`, `darkroom-cli`. */
  readonly applicationName: string
  readonly connectionsMax: number
  /** Kept open when idle, once opened. Default 0. */
  readonly connectionsMin?: number
  /** Told of every connection that died; the pool replaces it by itself. */
  readonly onConnectionError: (error: Error) => void
  /** Time to a usable connection, waiting for a free one included. Default 5 s. */
  readonly connectTimeoutMs?: number
  /** One statement on the server. Default 10 s. */
  readonly statementTimeoutMs?: number
}

/** Other people's row locks are short; one that lasts is a fault to be told of, not to be waited out. */
const lockTimeoutMs = 8_000
/** The client's own bound behind the server's: reached only when the network is gone. */
const queryTimeoutExtraMs = 5_000
const idleTimeoutMs = 30_000
const connectionLifetimeSeconds = 1_800

/**
 * The pool of one process, every timeout explicit. `bigint` columns arrive as numbers; a value beyond
 * the safe range throws rather than rounds. Nothing connects before the first query.
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
  // A connection that dies between two statements of a transaction tells nobody but its own listeners;
  // without one the process would end.
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

/**
 * Opens so many connections at once and leaves them to the pool: what comes first finds them ready
 * instead of paying for them. Where the server has no more to give, fewer will do.
 */
export async function openConnections(pool: Pool, count: number): Promise<void> {
  const opening = Array.from({ length: count }, () => pool.connect())
  const opened = await Promise.allSettled(opening)
  for (const one of opened) if (one.status === 'fulfilled') one.value.release()
}

const int8Oid = 20

function typeParsers(): TypeOverrides {
  const overrides = new TypeOverrides()
  overrides.setTypeParser(int8Oid, safeInteger)
  return overrides
}

function safeInteger(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new Error('Bug: a bigint beyond the safe range was read')
  return value
}
