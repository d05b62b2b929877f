import { Client } from 'pg'

/** A connection of its own, for what belongs to a session: LISTEN, advisory locks. */
export type Session = {
  /**
   * Runs the work on the connection, and opens the connection first if there is none. After an error the
   * connection is closed, so that everything that belongs to the session ends. The next call opens another.
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

/** Creates a session. */
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
