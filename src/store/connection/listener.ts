import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'

export type Listener = { readonly close: () => Promise<void> }

type ListenerOptions = {
  readonly databaseUrl: string
  /**
   * The channel to listen on. It becomes part of the SQL text, so it must never come from outside this code.
   */
  readonly channel: 'task_end' | 'sync_task'
  /** Called with each message of a `Notifier`. */
  readonly onMessage: (text: string) => void
  /** Called each time a connection starts to listen. Messages that were sent before may have been missed. */
  readonly onConnected: () => void
  readonly onError: (error: Error) => void
}

const connectTimeoutMs = 5_000
const reconnectMsFirst = 250
const reconnectMsMax = 5_000
/**
 * How often the connection is tested with a query. Needed because TCP may never report that the other side is gone.
 */
const aliveCheckMs = 15_000
const aliveTimeoutMs = 5_000
/** Limit for the orderly end of a connection. */
const endMsMax = 1_000

/**
 * Listens until `close` is called. When a connection is lost, opens another one after a pause. The pause doubles with
 * each failure, up to `reconnectMsMax`.
 */
export function createListener(options: ListenerOptions): Listener {
  const closing = new AbortController()
  const running = run(options, closing.signal)
  return {
    close: async () => {
      closing.abort()
      await running
    },
  }
}

async function run(options: ListenerOptions, closing: AbortSignal): Promise<void> {
  let reconnectMs = reconnectMsFirst
  while (!closing.aborted) {
    try {
      await listenOnce(options, closing, () => {
        reconnectMs = reconnectMsFirst
      })
    } catch (error) {
      options.onError(error instanceof Error ? error : new Error('unknown error'))
    }
    await sleep(reconnectMs, undefined, { signal: closing }).catch(() => {})
    reconnectMs = Math.min(reconnectMs * 2, reconnectMsMax)
  }
}

/** Listens on one connection. Resolves when `closing` aborts. Rejects when the connection is lost. */
async function listenOnce(
  options: ListenerOptions,
  closing: AbortSignal,
  onListening: () => void,
): Promise<void> {
  const client = new Client({
    connectionString: options.databaseUrl,
    application_name: 'darkroom-listen',
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: aliveTimeoutMs,
    keepAlive: true,
  })
  const lost = new Promise<Error>((resolve) => {
    client.on('error', resolve)
    client.on('end', () => resolve(new Error('the listening connection ended')))
  })
  client.on('notification', ({ payload = '' }) => options.onMessage(payload))
  try {
    await client.connect()
    await client.query(`listen ${options.channel}`)
    onListening()
    options.onConnected()
    while (!closing.aborted) {
      const timer = new AbortController()
      const signal = AbortSignal.any([closing, timer.signal])
      const silence = sleep(aliveCheckMs, undefined, { signal }).catch(() => undefined)
      const error = await Promise.race([lost, silence])
      timer.abort()
      if (error instanceof Error) throw error
      if (!closing.aborted) await client.query('select 1')
    }
  } finally {
    // The end of a connection waits for the other side, which may never answer.
    await Promise.race([client.end().catch(() => {}), sleep(endMsMax, undefined, { ref: false })])
  }
}
