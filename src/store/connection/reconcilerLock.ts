import { Client } from 'pg'

type ReconcilerLock = {
  /**
   * Takes the lock, or checks that this process still holds it. Returns whether it does. Never throws:
   * when the connection is lost, so is the lock, and the next call connects again.
   */
  readonly hold: () => Promise<boolean>
  readonly release: () => Promise<void>
}

/** Any fixed number except the one that migrations use. */
const advisoryLock = 4_711_002
const timeoutMs = 5_000
/**
 * A process that is stopped (SIGSTOP, a sleeping machine) would keep the lock and do nothing. The
 * server ends a session that is silent for this long, which frees the lock.
 */
const silenceMsMax = 20_000

/**
 * The advisory lock of the reconciler: of all workers, one reconciles. It is a session lock on a
 * connection of its own, so it is free again as soon as that connection ends.
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
  // Without a listener a lost connection would end the process. The next query reports the loss.
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
