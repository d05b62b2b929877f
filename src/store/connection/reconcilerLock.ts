import { Client } from 'pg'

type ReconcilerLock = {
  /**
   * Takes the lock, or checks that this process still has it. Returns whether this process has the lock.
   * Never throws. If the connection is lost, the lock is lost too, and the next call connects again.
   */
  readonly hold: () => Promise<boolean>
  readonly release: () => Promise<void>
}

/** Number of the advisory lock. Any fixed number will do, except the number that migrations use. */
const advisoryLock = 4_711_002
const timeoutMs = 5_000
/**
 * Limit for the silence of the lock's session. A process can be stopped (SIGSTOP, a sleeping machine), and
 * would then keep the lock and do nothing. PostgreSQL ends a session that is silent for this long, which
 * frees the lock.
 */
const silenceMsMax = 20_000

/**
 * Creates the advisory lock of the reconciler. Because of the lock, only one of all workers reconciles. The
 * lock belongs to the session of its own connection, so it is free again as soon as that connection ends.
 */
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

  async function takeOrCheck(): Promise<boolean> {
    session ??= await connect(options)
    if (held) await session.query('select 1')
    else held = await tryLock(session)
    return held
  }

  return {
    hold: async () => {
      try {
        return await takeOrCheck()
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
  // Without this listener, a lost connection would end the process. The next query reports the loss.
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
