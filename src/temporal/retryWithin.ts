import { setTimeout as sleep } from 'node:timers/promises'
import { isRetryable } from './grpcReason.ts'
import { TemporalTimeout } from './temporalTimeout.ts'

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
