import { Client, Connection } from '@temporalio/client'
import { loadClientConnectConfig } from '@temporalio/envconfig'
import { defined } from '../domain/defined.ts'
import { withTimeout } from '../domain/withTimeout.ts'

/** How the client and the worker reach Temporal, as their connections take it. */
export type TemporalSettings = {
  readonly address: string
  readonly namespace: string
} & Pick<ConnectionOptions, 'tls' | 'apiKey'> & { readonly metadata?: Record<string, string> }

type ConnectionOptions = ReturnType<typeof loadClientConnectConfig>['connectionOptions']

/**
 * Adds TLS, API key and gRPC metadata to an address and a namespace. `@temporalio/envconfig` reads these three from
 * its own TEMPORAL_* variables, of which none may be empty: an empty API key would mean TLS. It does not read its TOML
 * file here. Otherwise the personal profile of an operator could change how a service connects.
 */
export function temporalSettings(
  given: { readonly address: string; readonly namespace: string },
  environment: Record<string, string>,
): TemporalSettings {
  const options = { disableFile: true, overrideEnvVars: environment }
  const read = loadClientConnectConfig(options).connectionOptions
  const { tls, apiKey } = read
  // The values in variables are text. The type also allows bytes.
  const texts = Object.entries(read.metadata ?? {}).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  )
  const metadata = texts.length === 0 ? undefined : Object.fromEntries(texts)
  return { ...given, ...defined({ tls, apiKey, metadata }) }
}

export type Temporal = ReturnType<typeof connectTemporal>

/**
 * Limit for the pause between two tries to reconnect. With gRPC's default of up to two minutes, we would stay
 * disconnected long after Temporal works again.
 */
const reconnectMsMax = 2_000

/** Returns a client that connects at its first call and reconnects whenever the connection breaks. */
export function connectTemporal({ namespace, ...options }: TemporalSettings) {
  const connection = Connection.lazy({
    ...options,
    // Turns off the SDK's own retries, for two reasons: their pauses ignore the deadline, and closing the connection
    // during a pause causes an unhandled rejection. Callers try again later.
    interceptors: [],
    channelArgs: {
      'grpc.initial_reconnect_backoff_ms': 200,
      'grpc.max_reconnect_backoff_ms': reconnectMsMax,
    },
  })
  return {
    client: new Client({ connection, namespace }),
    namespace,
    /**
     * Makes one call to Temporal with a deadline. Rejects with the call's error or with `TimeLimitError`. Every call to
     * Temporal must use this function, because a gRPC call without a deadline can wait forever.
     */
    withDeadline: <Value>(deadlineMs: number, call: () => Promise<Value>): Promise<Value> =>
      withTimeout(deadlineMs, () => connection.withDeadline(Date.now() + deadlineMs, call)),
    /** Closes the connection. Running calls fail. */
    close: () => connection.close(),
  }
}
