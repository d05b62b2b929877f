/**
 * Limits which part of the event loop's time the bodies and images of one account take while other accounts use the
 * API. The requests of those other accounts need the same thread, for example for each answer of PostgreSQL, and
 * often the same few processors. An account that is alone is not limited.
 *
 * In this file, the work of an account means the work on its bodies and images, in the event loop and in other
 * threads.
 */
export type AccountPace = {
  /** Notes that the account has made a request with its API key, so that it counts as present. */
  readonly see: (accountId: string) => void
  /** Notes that the account has worked for `workMs`. */
  readonly charge: (accountId: string, workMs: number) => void
  /** Returns how long the account must wait before it works on, in milliseconds. */
  readonly delayMs: (accountId: string) => number
}

/** The part of one thread's time that the work of one account may take in the long run. */
const shareMax = 0.0625
/**
 * How long an account may work without a wait after a time in which it did not work. Enough to read two images of a
 * megabyte.
 */
const freeWorkMs = 25
/**
 * Limit for the work beyond its share that an account must make up for by waiting. An account that is alone may work
 * far beyond its share. When another account comes, the first one must not wait for all that work: it waits at most
 * 800 ms, which is this limit divided by `shareMax`.
 */
const owedWorkMsMax = 50
/**
 * How long an account counts as present after a request. Longer than the time between two lookups of a client that
 * polls its task, so that such a client counts as present all the time.
 */
const presentMs = 10_000

type Seen = { readonly accountId: string; readonly atMs: number }

/** Creates the pace of one process. At the start no account has worked. */
export function createAccountPace(monotonicMs = () => performance.now()): AccountPace {
  /**
   * The latest request of all accounts, and the latest request of any account except the one that made `latest`.
   * These two say for every account whether another account is present.
   */
  let latest: Seen | undefined
  let latestOther: Seen | undefined
  /**
   * By account: the time at which the account would have finished its work so far if it had always worked at its
   * share, so 16 milliseconds for each millisecond of work. A time in the future means that the account has worked
   * more than its share.
   */
  const doneAtMs = new Map<string, number>()

  function see(accountId: string): void {
    if (latest !== undefined && latest.accountId !== accountId) latestOther = latest
    latest = { accountId, atMs: monotonicMs() }
  }

  function isAlone(accountId: string, nowMs: number): boolean {
    const other = latest?.accountId === accountId ? latestOther : latest
    return other === undefined || nowMs - other.atMs > presentMs
  }

  function charge(accountId: string, workMs: number): void {
    const nowMs = monotonicMs()
    const before = Math.max(doneAtMs.get(accountId) ?? nowMs, nowMs)
    // The entry is deleted and set again, so that the map stays in the order of the latest work: the account that has
    // not worked for longest comes first. An entry whose time has passed says nothing. The loop deletes such entries
    // from the front of the map.
    doneAtMs.delete(accountId)
    for (const [each, atMs] of doneAtMs) {
      if (atMs > nowMs) break
      doneAtMs.delete(each)
    }
    const latestAtMs = nowMs + (freeWorkMs + owedWorkMsMax) / shareMax
    doneAtMs.set(accountId, Math.min(before + workMs / shareMax, latestAtMs))
  }

  function delayMs(accountId: string): number {
    const nowMs = monotonicMs()
    const aheadMs = (doneAtMs.get(accountId) ?? nowMs) - nowMs - freeWorkMs / shareMax
    return aheadMs <= 0 || isAlone(accountId, nowMs) ? 0 : aheadMs
  }

  return { see, charge, delayMs }
}
