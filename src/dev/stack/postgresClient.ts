import { Client } from 'pg'

const connectTimeoutMs = 5_000

/** Runs `work` on one connection and closes it. */
export const withPostgres = async <T>(
  connectionString: string,
  work: (client: Client) => Promise<T>,
): Promise<T> => {
  const client = new Client({ connectionString, connectionTimeoutMillis: connectTimeoutMs })
  // A server that stops ends its connections; whoever waits for a query learns it from there.
  client.on('error', () => undefined)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** Makes the database unless it is there. */
export const ensureDatabase = (adminUrl: string, name: string): Promise<void> =>
  withPostgres(adminUrl, async (client) => {
    const found = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [name])
    if (found.rowCount === 0) await client.query(`CREATE DATABASE ${client.escapeIdentifier(name)}`)
  })
