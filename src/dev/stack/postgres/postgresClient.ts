import { Client } from 'pg'

const connectTimeoutMs = 5_000

/** Opens one connection, runs `work` on it and closes it. Rejects when the server does not answer. */
export async function withPostgres<Value>(
  connectionString: string,
  work: (client: Client) => Promise<Value>,
): Promise<Value> {
  const client = new Client({ connectionString, connectionTimeoutMillis: connectTimeoutMs })
  // When a server stops, it ends its connections, and the running query rejects. Without this listener the
  // same error would also end this process.
  client.on('error', () => undefined)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** Creates a database if it does not exist. */
export function ensureDatabase(adminUrl: string, name: string): Promise<void> {
  return withPostgres(adminUrl, async (client) => {
    const found = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [name])
    if (found.rowCount === 0) await client.query(`CREATE DATABASE ${client.escapeIdentifier(name)}`)
  })
}
