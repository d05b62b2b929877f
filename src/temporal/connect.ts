import { Client, Connection } from '@temporalio/client'
import type { TemporalSettings } from './settings.ts'
import { connectionOptions } from './settings.ts'
import { retryWithin } from './retryWithin.ts'

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
