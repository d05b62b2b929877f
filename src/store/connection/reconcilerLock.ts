import { Client } from 'pg'

type ReconcilerLock = {
  /**
   * Takes the lock, or makes sure that it is still held: true while this process leads. Never throws: a
   * connection that is gone took the lock along, and the next call connects anew.
   */
  readonly hold: () => Promise<boolean>
  readonly release: () => Promise<void>
}

/** Any fixed number, not that of migrations. */
const advisoryLock = 4_711_002
const timeoutMs = 5_000
/**
 * A process that is stopped (SIGSTOP, a sleeping machine) would lead for ever without doing anything: a
 * session silent for this long is ended by the server, and its lock is free.
 */
const silenceMsMax = 20_000

/** A session lock on a connection of its own: as long as the session lives, nobody else reconciles. */
export function createReconcilerLock(options: {
  readonly databaseUrl: string
  readonly applicationName: string
}): ReconcilerLock {
  let session: Client | undefined
  let held = false

  async function drop(): Promise<void> {
    const gone = session
    session = undefined
    held = false
    await gone?.end().catch(() => {})
  }

  async function ask(): Promise<boolean> {
    session ??= await connect(options)
    if (held) await session.query('select 1')
    else held = await tryLock(session)
    return held
  }

  return {
    hold: async () => {
      try {
        return await ask()
      } catch {
        await drop()
        return false
      }
    },
    release: drop,
  }
}

async function connect(options: {
  readonly databaseUrl: string
  readonly applicationName: string
}): Promise<Client> {
  const client = new Client({
    connectionString: options.databaseUrl,
    application_name: options.applicationName,
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
    statement_timeout: timeoutMs,
    keepAlive: true,
  })
  // Told by the next query; without a listener the process would end.
  client.on('error', () => {})
  await client.connect()
  await client.query(`set idle_session_timeout = ${silenceMsMax}`)
  return client
}

async function tryLock(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ locked: boolean }>(
    'select pg_try_advisory_lock($1) as locked',
    [advisoryLock],
  )
  return rows[0]?.locked === true
}
