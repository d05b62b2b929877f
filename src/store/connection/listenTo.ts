import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'

type ListenOptions = {
  readonly databaseUrl: string
  /** An identifier of ours, never taken from outside. */
  readonly channel: 'task_end'
  readonly onPayload: (payload: string) => void
  /** Listening from here on; what was sent before is not known. */
  readonly onConnected: () => void
  readonly onError: (error: Error) => void
}

const connectTimeoutMs = 5_000
const reconnectMsFirst = 250
const reconnectMsMax = 5_000
/** A silent connection is asked this often whether it is still there; TCP alone may never tell. */
const aliveCheckMs = 15_000
const aliveTimeoutMs = 5_000

/** One connection that listens, replaced with back-off whenever it dies, until closed. */
export function listenTo(options: ListenOptions): { readonly close: () => Promise<void> } {
  const closing = new AbortController()
  const running = run(options, closing.signal)
  return {
    close: async () => {
      closing.abort()
      await running
    },
  }
}

async function run(options: ListenOptions, closing: AbortSignal): Promise<void> {
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

/** Resolves when told to close, rejects when the connection is lost. */
async function listenOnce(
  options: ListenOptions,
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
  client.on('notification', ({ payload }) => options.onPayload(payload ?? ''))
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
    await client.end().catch(() => {})
  }
}
