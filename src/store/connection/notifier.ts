import type { Pool } from 'pg'
import { createPool } from './pool.ts'

/** Sends messages to the processes that listen on a channel. */
export type Notifier = {
  /**
   * Queues a message and returns at once. The message is sent while the caller goes on. Never throws. A message may
   * be lost, so its receivers must also read the database from time to time.
   */
  readonly send: (channel: string, text: string) => void
  /** Sends the queued messages and closes the connection. Takes a few seconds when PostgreSQL does not answer. */
  readonly close: () => Promise<void>
}

type Message = { readonly channel: string; readonly text: string }

/** Limit for the queued messages. Further messages are lost. */
const pendingMax = 10_000
/** Limit for connecting and for one statement. A message that is older than this is no longer of use. */
const sendTimeoutMs = 2_000

/**
 * Creates the sender of this process for notifications of PostgreSQL. It has a connection of its own. While a
 * statement is under way, new messages are collected, and the next statement sends all of them.
 *
 * A transaction that notifies holds, while it commits, a lock that all databases of the PostgreSQL server share. So
 * no transaction that changes tasks or credits may notify: these transactions would commit one after the other. A
 * transaction of this sender holds the lock for a moment only, because its commit does not wait for the disk.
 */
export function createNotifier(options: {
  readonly databaseUrl: string
  readonly onError: (error: Error) => void
}): Notifier {
  const pool = createPool({
    databaseUrl: options.databaseUrl,
    applicationName: 'darkroom-notify',
    connectionsMax: 1,
    connectionsMin: 1,
    connectTimeoutMs: sendTimeoutMs,
    statementTimeoutMs: sendTimeoutMs,
    onConnectionError: options.onError,
  })
  let pending: Message[] = []
  let sending: Promise<void> | undefined

  async function sendPending(): Promise<void> {
    while (pending.length > 0) {
      const messages = pending
      pending = []
      try {
        await notify(pool, messages)
      } catch (error) {
        // The messages that were queued during the failed statement are too old by now.
        pending = []
        options.onError(error instanceof Error ? error : new Error('unknown error'))
      }
    }
    sending = undefined
  }

  return {
    send: (channel, text) => {
      if (pending.length >= pendingMax) return
      pending.push({ channel, text })
      sending ??= sendPending()
    },
    close: async () => {
      await sending
      await pool.end()
    },
  }
}

/** Sends the messages in one transaction, whose commit does not wait for the disk. */
async function notify(pool: Pool, messages: readonly Message[]): Promise<void> {
  await pool.query({
    name: 'notify',
    // The setting belongs to the transaction, so that it also holds behind a pooler of connections.
    text: `select set_config('synchronous_commit', 'off', true), count(pg_notify(channel, text))
      from unnest($1::text[], $2::text[]) as message (channel, text)`,
    values: [messages.map(({ channel }) => channel), messages.map(({ text }) => text)],
  })
}
