import { Pool, TypeOverrides } from 'pg'
import { sendUnnamed } from './pooler.ts'

export type PoolOptions = {
  readonly databaseUrl: string
  /** The name that PostgreSQL shows in pg_stat_activity, such as `darkroom-worker`. */
  readonly applicationName: string
  readonly connectionsMax: number
  /** How many idle connections stay open. Default 0. */
  readonly connectionsMin?: number
  /**
   * Whether `databaseUrl` leads to a pooler in transaction mode. If it does, statements are not prepared. PostgreSQL
   * then enforces only the timeouts of the role, because such a pooler accepts none at the start of a connection.
   */
  readonly pooled?: boolean
  /** Called when an idle connection is lost. The pool opens another one when it needs it. */
  readonly onConnectionError: (error: Error) => void
  /** Limit for getting a connection, including the wait until one is free. Default 15 s. */
  readonly connectTimeoutMs?: number
  /**
   * Limit for one statement. Default 10 s. PostgreSQL enforces it, unless `pooled`. This process stops waiting five seconds
   * later in either case.
   */
  readonly statementTimeoutMs?: number
}

/**
 * Limit for the wait for a row's lock. The transactions of this code hold their locks for milliseconds, so a wait of
 * seconds means that something is wrong.
 */
const lockTimeoutMs = 8_000
/**
 * Time between the statement timeout and the moment when the client itself stops waiting. The client must stop by
 * itself because PostgreSQL cannot report its own timeout when the network is gone.
 */
const queryTimeoutExtraMs = 5_000
const idleTimeoutMs = 30_000
const connectionLifetimeSeconds = 1_800

/**
 * Creates the connection pool of one process. The pool opens its first connection at the first query.
 * `bigint` columns are read as numbers. A value outside the safe integer range throws and is never rounded.
 */
export function createPool(options: PoolOptions): Pool {
  const statementTimeoutMs = options.statementTimeoutMs ?? 10_000
  const pool = new Pool({
    connectionString: options.databaseUrl,
    application_name: options.applicationName,
    max: options.connectionsMax,
    min: options.connectionsMin ?? 0,
    connectionTimeoutMillis: options.connectTimeoutMs ?? 15_000,
    query_timeout: statementTimeoutMs + queryTimeoutExtraMs,
    ...(options.pooled === true ? {} : serverSettings(statementTimeoutMs)),
    idleTimeoutMillis: idleTimeoutMs,
    maxLifetimeSeconds: connectionLifetimeSeconds,
    keepAlive: true,
    types: typeParsers(),
  })
  pool.on('error', options.onConnectionError)
  // A connection that is lost between two statements of a transaction emits its own 'error' event. Without
  // this listener, the event would end the process. The next statement reports the loss.
  pool.on('connect', (client) => {
    client.on('error', () => {})
    if (options.pooled === true) sendUnnamed(client)
  })
  return pool
}

/**
 * A pooler in transaction mode refuses these. Planning a long statement takes as long as running it, and knowing its
 * values does not improve the plan, so each connection plans each statement once.
 */
function serverSettings(statementTimeoutMs: number) {
  return {
    options: '-c plan_cache_mode=force_generic_plan -c jit=off',
    statement_timeout: statementTimeoutMs,
    lock_timeout: lockTimeoutMs,
    idle_in_transaction_session_timeout: statementTimeoutMs,
  }
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
