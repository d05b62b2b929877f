import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { families } from '../../domain/models/models.ts'
import type { DirectTask } from '../../domain/tasks/directRun.ts'

export type Messages = Awaited<ReturnType<typeof openMessages>>

type MessagesOptions = {
  /** Leads to PostgreSQL itself, because a pooler in transaction mode has no sessions that could listen. */
  readonly databaseUrl: string
  /**
   * What this process hears: the ends of tasks, or tasks that a worker should take now. It becomes part of the SQL text,
   * so it must never come from outside this code.
   */
  readonly hears: 'task_end' | 'task'
  /** Called with each connection that is lost or cannot be opened, and with each message that could not be sent. */
  readonly onError: (error: unknown) => void
}

type Message = { readonly channel: MessagesOptions['hears']; readonly text: string }

const connectTimeoutMs = 10_000
/** The pause before a lost connection is replaced. */
const reconnectMs = 500
/** Limit for the messages that wait for the statement under way. Further ones are lost. */
const pendingMax = 10_000
/** How often the connection is tested with a query, because TCP may never report that the other side is gone. */
const aliveCheckMs = 15_000
/** Limit for one query. A message that is older than this is no longer of use. */
const queryTimeoutMs = 5_000
/** Limit for closing the connection. */
const endMsMax = 1_000

/**
 * Opens what a process tells other processes, and hears from them, by NOTIFY of PostgreSQL. It has one connection of its
 * own, and replaces it when it is lost. Rejects when the first one cannot be opened. Messages may be lost, so nothing may
 * depend on them: who waits for the end of a task also reads its row each second, and the reconciler starts a
 * synchronous task of which nobody has heard.
 *
 * A transaction that notifies holds, while it commits, a lock that all databases of the PostgreSQL server share. So no
 * transaction that changes tasks or credits may notify: these transactions would commit one after the other. A message
 * holds the lock for a moment only, because its commit does not wait for the disk.
 */
export async function openMessages(options: MessagesOptions) {
  const { onError } = options
  const closing = new AbortController()
  let onMessage: (text: string) => void = () => {}
  let connection = await connect(options, (text) => onMessage(text))

  let pending: Message[] = []
  let sending: Promise<void> | undefined

  async function stayConnected(): Promise<void> {
    for (;;) {
      const over = AbortSignal.any([closing.signal, connection.lost.signal])
      await sleep(aliveCheckMs, undefined, { signal: over }).catch(() => {})
      if (closing.signal.aborted) return
      if (connection.lost.signal.aborted) {
        await sleep(reconnectMs, undefined, { signal: closing.signal }).catch(() => {})
        connection = await connect(options, (text) => onMessage(text)).catch((error: unknown) => {
          onError(error)
          return connection
        })
      } else await (sending ??= sendPending())
    }
  }

  /** Sends what is pending, and what arrives meanwhile. With nothing pending, it tests the connection. */
  async function sendPending(): Promise<void> {
    do {
      const messages = pending
      pending = []
      try {
        const values = [messages.map(({ channel }) => channel), messages.map(({ text }) => text)]
        await connection.client.query({ name: 'notify', text: notifySql, values })
      } catch (error) {
        onError(error)
        connection.lost.abort()
        void connection.client.end().catch(() => {})
      }
    } while (pending.length > 0)
    sending = undefined
  }

  function send(channel: Message['channel'], text: string): void {
    if (connection.lost.signal.aborted || pending.length >= pendingMax) return
    pending.push({ channel, text })
    sending ??= sendPending()
  }

  const running = stayConnected()
  return {
    /** Tells that a task has ended. Call this after the commit. Never throws and never waits. */
    announceEnd: (taskId: string): void => send('task_end', taskId),
    /** Tells all workers of a task that one of them should take now, without a run. Never throws and never waits. */
    announceTask: ({ family, model, taskId }: Omit<DirectTask, 'sync'>): void =>
      send('task', `${family} ${model} ${taskId}`),
    /** Sets what is called with each message from now on. Earlier messages are lost. */
    hear: (listener: (text: string) => void): void => {
      onMessage = listener
    },
    /** Sends what is not sent yet, and closes the connection. Takes seconds when PostgreSQL does not answer. */
    close: async (): Promise<void> => {
      closing.abort()
      await running
      await sending
      // The end of a connection waits for the other side, which may never answer.
      const ended = connection.client.end().catch(() => {})
      await Promise.race([ended, sleep(endMsMax, undefined, { ref: false })])
    },
  }
}

async function connect(
  { databaseUrl, hears, onError }: MessagesOptions,
  onMessage: (text: string) => void,
) {
  const client = new Client({
    connectionString: databaseUrl,
    application_name: 'darkroom-messages',
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: queryTimeoutMs,
    keepAlive: true,
  })
  const lost = new AbortController()
  client.on('error', (error) => {
    lost.abort()
    onError(error)
  })
  client.on('end', () => lost.abort())
  client.on('notification', ({ payload = '' }) => onMessage(payload))
  try {
    await client.connect()
    await client.query(`listen ${hears}`)
    return { client, lost }
  } catch (error) {
    await client.end().catch(() => {})
    throw error
  }
}

/** The setting belongs to the transaction of this statement. */
const notifySql = `
  select set_config('synchronous_commit', 'off', true), count(pg_notify(channel, text))
  from unnest($1::text[], $2::text[]) as message (channel, text)`

/** Reads a message of `announceTask`: who takes the task uses no slot. Returns `undefined` for any other text. */
export function readAnnounced(text: string): DirectTask | undefined {
  const [name, model, taskId] = text.split(' ')
  const family = families.find((each) => each === name)
  if (family === undefined || model === undefined || taskId === undefined) return undefined
  return { family, model, taskId, sync: true }
}
