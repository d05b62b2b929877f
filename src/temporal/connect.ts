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
   * Runs one call to Temporal under a deadline, retries included. Rejects with the call's error, or with
   * `TemporalTimeout`: no call may be made without it, for without it a call may wait for ever.
   */
  readonly within: <Value>(limitMs: number, call: () => Promise<Value>) => Promise<Value>
  /** Calls under way fail. */
  readonly close: () => Promise<void>
}

/** gRPC would wait up to two minutes before it knocks again; a Temporal that is back should be seen soon. */
const reconnectMsMax = 2_000

/** A client whose connection is made by its first call and made again whenever it breaks. */
export function connectTemporal(settings: TemporalSettings): Temporal {
  const { namespace } = settings
  const connection = Connection.lazy({
    ...connectionOptions(settings),
    // The SDK's own retries know no deadline while they pause, and throw where nobody catches when the
    // connection is closed meanwhile. `retryWithin` does theirs.
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
    within: (limitMs, call) =>
      retryWithin({ limitMs, signal: closing.signal }, (endsAtMs) =>
        connection.withDeadline(endsAtMs, call),
      ),
    close: async () => {
      closing.abort()
      await connection.close()
    },
  }
}

/** How to reach Temporal, the same for client and worker. */
export type TemporalSettings = {
  readonly address: string
  readonly namespace: string
  readonly tls?: TLSConfig | boolean
  readonly apiKey?: string
  readonly metadata?: Readonly<Record<string, string>>
}

/**
 * TLS, API key and gRPC metadata come from the variables that `@temporalio/envconfig` reads itself;
 * address and namespace from our configuration. Its TOML file is not read: a personal profile of the
 * operator's must not reach into a service.
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
    ...(tls === undefined || tls === null ? {} : { tls }),
    ...defined({ apiKey }),
    ...(metadata === undefined ? {} : { metadata: textOnly(metadata) }),
  }
}

/** The part that names and opens the connection, in the shape that client and worker both take. */
export function connectionOptions(settings: TemporalSettings) {
  const { address, tls, apiKey, metadata } = settings
  return {
    address,
    ...defined({ tls, apiKey }),
    ...(metadata === undefined ? {} : { metadata: { ...metadata } }),
  }
}

function textOnly(metadata: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(metadata).filter((entry): entry is [string, string] => {
      return typeof entry[1] === 'string'
    }),
  )
}

const attemptsMax = 3
const firstPauseMs = 100

/**
 * Makes a call, again after a passing failure, and answers or rejects by the end of `limitMs`, whatever
 * the call does. `call` is told when that is, in epoch milliseconds, for gRPC's own deadline.
 */
export async function retryWithin<Value>(
  options: { readonly limitMs: number; readonly signal: AbortSignal },
  call: (endsAtMs: number) => Promise<Value>,
): Promise<Value> {
  const { limitMs, signal } = options
  const late = new AbortController()
  const stop = AbortSignal.any([late.signal, signal])
  const timeout = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    late.abort()
    timeout.reject(new TemporalTimeout(limitMs))
  }, limitMs)
  try {
    return await Promise.race([retry(call, Date.now() + limitMs, stop), timeout.promise])
  } finally {
    clearTimeout(timer)
  }
}

async function retry<Value>(
  call: (endsAtMs: number) => Promise<Value>,
  endsAtMs: number,
  stop: AbortSignal,
): Promise<Value> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call(endsAtMs)
    } catch (error) {
      if (attempt >= attemptsMax || stop.aborted || !isRetryable(error)) throw error
      await sleep(firstPauseMs * 2 ** (attempt - 1), undefined, { signal: stop }).catch(() => {})
      if (stop.aborted) throw error
    }
  }
}
