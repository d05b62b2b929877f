import type { ServerResponse } from 'node:http'

/**
 * The lookups and event streams of this API process that wait for a task. In this file, a place is room for one of
 * them, and has nothing to do with a place on a channel.
 */
export type WaitPlaces = ReturnType<typeof createWaitPlaces>

export type WaitersMax = { readonly account: number; readonly process: number }

/**
 * Each waiter costs a connection and some memory, and adds a task to the statement that reads all watched tasks
 * once a second. One account gets at most half of the places, so that it cannot keep out the others.
 */
export const waitersMaxDefault: WaitersMax = { account: 2_500, process: 5_000 }

export const tooManyWaiters = { tag: 'too_many_waiters', retryAfterSeconds: 5 } as const

/** Creates the places of one API process. All waiters leave when `stopping` aborts. */
export function createWaitPlaces(stopping: AbortSignal, max: WaitersMax = waitersMaxDefault) {
  const taken = new Set<() => void>()
  const takenBy = new Map<string, number>()
  stopping.addEventListener('abort', () => [...taken].forEach((leave) => leave()))

  function count(accountId: string, change: 1 | -1): void {
    const number = (takenBy.get(accountId) ?? 0) + change
    if (number === 0) takenBy.delete(accountId)
    else takenBy.set(accountId, number)
  }

  /**
   * Takes a place for one waiter. Returns `undefined` when the account or the process has no more places. The signal
   * aborts when the waiter must not wait any longer: its client has left, or the process stops. `leave` gives the place
   * back and aborts the signal. A second call does nothing.
   */
  function take(accountId: string, response: ServerResponse) {
    if (taken.size >= max.process || (takenBy.get(accountId) ?? 0) >= max.account) return undefined
    const stop = new AbortController()
    const leave = () => {
      if (!taken.delete(leave)) return
      count(accountId, -1)
      response.off('close', leave)
      stop.abort()
    }
    taken.add(leave)
    count(accountId, 1)
    // The whole request has been read. After that, only the response reports that its client has left.
    response.once('close', leave)
    if (response.closed || stopping.aborted) leave()
    return { signal: stop.signal, leave }
  }

  return { take }
}
