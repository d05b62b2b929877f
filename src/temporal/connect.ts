import {
  Client,
  Connection,
  defaultGrpcRetryOptions,
  makeGrpcRetryInterceptor,
} from '@temporalio/client'
import type { TemporalSettings } from './settings.ts'
import { connectionOptions } from './settings.ts'

export type Temporal = {
  readonly client: Client
  readonly namespace: string
  /**
   * Runs one call to Temporal under a deadline, retries included. Rejects with the call's error, or with
   * `TemporalTimeout`: no call may be made without it, for without it a call may wait for ever.
   */
  readonly within: <Value>(limitMs: number, call: () => Promise<Value>) => Promise<Value>
  readonly close: () => Promise<void>
}

/** The deadline passed. What was asked may still happen. */
export class TemporalTimeout extends Error {
  override readonly name = 'TemporalTimeout'
}

/** Within a deadline of seconds: the default of ten would wait on after it. */
const grpcAttemptsMax = 3

/** gRPC would wait up to two minutes before it knocks again; a Temporal that is back should be seen soon. */
const reconnectMsMax = 2_000

/** A client whose connection is made by its first call and made again whenever it breaks. */
export function connectTemporal(settings: TemporalSettings): Temporal {
  const { namespace } = settings
  const connection = Connection.lazy({
    ...connectionOptions(settings),
    interceptors: [
      makeGrpcRetryInterceptor(defaultGrpcRetryOptions({ maxAttempts: grpcAttemptsMax })),
    ],
    channelArgs: {
      'grpc.initial_reconnect_backoff_ms': 200,
      'grpc.max_reconnect_backoff_ms': reconnectMsMax,
    },
  })
  const client = new Client({ connection, namespace })
  return {
    client,
    namespace,
    within: (limitMs, call) =>
      orTimeout(limitMs, connection.withDeadline(Date.now() + limitMs, call)),
    close: () => connection.close(),
  }
}

/** gRPC's own deadline ends a call, not the pause before its retry: this one ends both. */
async function orTimeout<Value>(limitMs: number, answer: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new TemporalTimeout(`no answer in ${limitMs} ms`)), limitMs)
  })
  try {
    return await Promise.race([answer, late])
  } finally {
    clearTimeout(timer)
  }
}
