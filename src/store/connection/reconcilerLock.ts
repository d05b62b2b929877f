import type { Client } from 'pg'
import { createSession } from './session.ts'

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
/** Limit for connecting and for one statement. */
const timeoutMs = 5_000
/**
 * Limit for the time in which the connection of the lock sends nothing. Then PostgreSQL ends the connection, which
 * frees the lock. Otherwise a process that stands still (SIGSTOP, a sleeping machine) would keep the lock, and nobody
 * would reconcile.
 */
const silenceMsMax = 20_000

/**
 * Creates the advisory lock of the reconciler. Because of the lock, only one of all workers reconciles. The lock
 * belongs to a connection of its own, and is free again when that connection ends.
 */
export function createReconcilerLock(options: {
  readonly databaseUrl: string
  readonly applicationName: string
}): ReconcilerLock {
  let held = false
  const session = createSession({
    ...options,
    timeoutMs,
    prepare: async (client) => {
      held = false
      await client.query(`set idle_session_timeout = ${silenceMsMax}`)
    },
  })

  return {
    hold: async () => {
      try {
        return await session.run(async (client) => {
          if (held) await client.query('select 1')
          else held = await tryLock(client)
          return held
        })
      } catch {
        return false
      }
    },
    release: session.close,
  }
}

async function tryLock(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ locked: boolean }>(
    'select pg_try_advisory_lock($1) as locked',
    [advisoryLock],
  )
  return rows[0]?.locked === true
}
