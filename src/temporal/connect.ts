import { Client, Connection } from '@temporalio/client'
import type { TLSConfig } from '@temporalio/common/lib/internal-non-workflow/index.js'
import { loadClientConnectConfig } from '@temporalio/envconfig'
import { setTimeout as sleep } from 'node:timers/promises'
import { defined } from '../domain/defined.ts'
import { isRetryable, TemporalTimeout } from './grpcReason.ts'

export type Temporal = {
  readonly client: Client
  readonly namespace: string
  /**
   * Makes one call to Temporal with a deadline, which includes repeated tries. Rejects with the call's error
   * or with `TemporalTimeout`. Every call to Temporal must use this function, because a gRPC call without a
   * deadline can wait forever.
   */
  readonly withDeadline: <Value>(deadlineMs: number, call: () => Promise<Value>) => Promise<Value>
  /** Closes the connection. Running calls fail. */
  readonly close: () => Promise<void>
}

/**
 * Limit for the pause between two tries to reconnect. With gRPC's default of up to two minutes, we would stay
 * disconnected long after Temporal works again.
 */
const reconnectMsMax = 2_000

/** Returns a client that connects at its first call and reconnects whenever the connection breaks. */
export function connectTemporal(settings: TemporalSettings): Temporal {
  const { namespace } = settings
  const connection = Connection.lazy({
    ...connectionOptions(settings),
    // Turns off the SDK's own retries, for two reasons: their pauses ignore the deadline, and closing the
    // connection during a pause causes an unhandled rejection. `callWithDeadline` repeats calls instead.
    interceptors: [],
    channelArgs: {
      'grpc.initial_reconnect_backoff_ms': 200,
      'grpc.max_reconnect_backoff_ms': reconnectMsMax,
    },
  })
  const client = new Client({ connection, namespace })
  const closing = new AbortController()
  return {
    client,
    namespace,
    withDeadline: (deadlineMs, call) =>
      callWithDeadline(deadlineMs, closing.signal, (deadlineAtMs) =>
        connection.withDeadline(deadlineAtMs, call),
      ),
    close: async () => {
      closing.abort()
      await connection.close()
    },
  }
}

/** How the client and the worker reach Temporal. */
export type TemporalSettings = {
  readonly address: string
  readonly namespace: string
  readonly tls?: TLSConfig | boolean
  readonly apiKey?: string
  readonly metadata?: Readonly<Record<string, string>>
}

/**
 * Adds TLS, API key and gRPC metadata to an address and a namespace. `@temporalio/envconfig` reads these
 * three from its own TEMPORAL_* variables. It does not read its TOML file here. Otherwise the personal
 * profile of an operator could change how a service connects.
 */
export function temporalSettings(given: {
  readonly address: string
  readonly namespace: string
}): TemporalSettings {
  const { tls, apiKey, metadata } = loadClientConnectConfig({
    disableFile: true,
  }).connectionOptions
  return {
    ...given,
    ...defined({ tls, apiKey, metadata: metadata && textOnly(metadata) }),
  }
}

/** Returns the connection options that the SDK's client and worker have in common. */
export function connectionOptions(settings: TemporalSettings) {
  const { address, tls, apiKey, metadata } = settings
  return {
    address,
    ...defined({ tls, apiKey, metadata: metadata && { ...metadata } }),
  }
}

/**
 * Returns the metadata entries whose value is text. gRPC metadata could also contain bytes; ours contains
 * text only.
 */
function textOnly(metadata: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(metadata).filter((entry): entry is [string, string] => {
      return typeof entry[1] === 'string'
    }),
  )
}

const triesMax = 3
const firstPauseMs = 100

/**
 * Makes a call and repeats it after a transient failure. Resolves or rejects within `deadlineMs`, even if the
 * call never ends. `call` gets the time of the deadline (epoch milliseconds), to use as gRPC's own deadline.
 */
async function callWithDeadline<Value>(
  deadlineMs: number,
  closing: AbortSignal,
  call: (deadlineAtMs: number) => Promise<Value>,
): Promise<Value> {
  const late = new AbortController()
  const stop = AbortSignal.any([late.signal, closing])
  const timeout = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    late.abort()
    timeout.reject(new TemporalTimeout(deadlineMs))
  }, deadlineMs)
  try {
    return await Promise.race([retry(call, Date.now() + deadlineMs, stop), timeout.promise])
  } finally {
    clearTimeout(timer)
  }
}

async function retry<Value>(
  call: (deadlineAtMs: number) => Promise<Value>,
  deadlineAtMs: number,
  stop: AbortSignal,
): Promise<Value> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call(deadlineAtMs)
    } catch (error) {
      if (attempt >= triesMax || stop.aborted || !isRetryable(error)) throw error
      await sleep(firstPauseMs * 2 ** (attempt - 1), undefined, { signal: stop }).catch(() => {})
      if (stop.aborted) throw error
    }
  }
}
