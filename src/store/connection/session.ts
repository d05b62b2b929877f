import { Client } from 'pg'

/**
 * A connection to PostgreSQL that is not part of a pool. It is for what PostgreSQL binds to one connection and drops
 * when that connection ends: LISTEN, advisory locks and settings.
 */
export type Session = {
  /**
   * Runs the work on the connection. Opens the connection first if there is none. If the work throws, closes the
   * connection, so that everything that belongs to it ends too. The next call of `run` then opens a new connection.
   */
  readonly run: <Value>(work: (client: Client) => Promise<Value>) => Promise<Value>
  readonly close: () => Promise<void>
}

export type SessionOptions = {
  readonly databaseUrl: string
  readonly applicationName: string
  /** Prepares each new connection before the first work on it. */
  readonly prepare: (client: Client) => Promise<void>
  /** Limit for connecting and for one statement. */
  readonly timeoutMs: number
}

/** Creates a session without a connection. The first call of `run` opens one. */
export function createSession(options: SessionOptions): Session {
  const { timeoutMs } = options
  let current: Promise<Client> | undefined

  async function open(): Promise<Client> {
    const client = new Client({
      connectionString: options.databaseUrl,
      application_name: options.applicationName,
      connectionTimeoutMillis: timeoutMs,
      query_timeout: timeoutMs,
      statement_timeout: timeoutMs,
      keepAlive: true,
    })
    // Without this listener, a lost connection would end the process. The next statement reports the loss.
    client.on('error', () => {})
    try {
      await client.connect()
      await options.prepare(client)
      return client
    } catch (error) {
      void end(client)
      throw error
    }
  }

  async function drop(): Promise<void> {
    const gone = current
    current = undefined
    await gone?.then(end, () => {})
  }

  return {
    run: async (work) => {
      current ??= open()
      const used = current
      try {
        return await work(await used)
      } catch (error) {
        if (current === used) void drop()
        throw error
      }
    },
    close: drop,
  }
}

async function end(client: Client): Promise<void> {
  await client.end().catch(() => {})
}
