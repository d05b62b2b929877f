import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool, PoolClient } from 'pg'
import { DatabaseError } from 'pg'

/** The SQLSTATE of a refused connection: PostgreSQL, the database or the role allows no further connection. */
const fullState = '53300'
/** How long the pool does not try to grow after such a refusal. */
const holdMs = 1_000
/** Time between two tries while the pool has no connection at all. */
const pauseMs = 100

/**
 * Makes a pool go on with the connections that it has when PostgreSQL refuses to open another one. Without this
 * function, the caller for whom the pool opens the connection gets the refusal as an error, although a connection of
 * the pool may be free a few milliseconds later. With this function, that caller waits for a free connection like
 * every caller of a full pool, at most `connectTimeoutMs` from the refusal on.
 */
export function waitWhenFull(pool: Pool, connectTimeoutMs: number): void {
  const connect: () => Promise<PoolClient> = pool.connect.bind(pool)
  const connectionsMax = pool.options.max
  let growing: NodeJS.Timeout | undefined

  function hold(): void {
    pool.options.max = Math.max(1, pool.totalCount)
    clearTimeout(growing)
    growing = setTimeout(() => {
      pool.options.max = connectionsMax
    }, holdMs).unref()
  }

  async function connectInTurn(): Promise<PoolClient> {
    const endsAtMs = performance.now() + connectTimeoutMs
    for (;;) {
      try {
        return await connect()
      } catch (error) {
        if (!isFull(error) || performance.now() + pauseMs > endsAtMs) throw error
        hold()
      }
      if (pool.totalCount === 0) await sleep(pauseMs)
    }
  }

  async function connectFor(callback: ConnectCallback): Promise<void> {
    let client: PoolClient
    try {
      client = await connectInTurn()
    } catch (error) {
      callback(error)
      return
    }
    callback(undefined, client, (error) => client.release(error))
  }

  // The pool's own `query` calls `connect` with a callback.
  Object.defineProperty(pool, 'connect', {
    value: (callback?: ConnectCallback) =>
      callback === undefined ? connectInTurn() : void connectFor(callback),
  })
}

type ConnectCallback = (
  error: unknown,
  client?: PoolClient,
  release?: (error?: Error | boolean) => void,
) => void

function isFull(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === fullState
}
