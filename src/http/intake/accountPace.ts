/**
 * Limits how much of the time of the event loop the bodies and images of one account take while other accounts
 * use the API. All steps of the others, each answer of PostgreSQL for example, need the same thread, and often the
 * same few processors. An account that is alone may use all of it.
 */
export type AccountPace = {
  /** Notes that the account has made a request with its API key. */
  readonly see: (accountId: string) => void
  /** Adds work of the account. */
  readonly charge: (accountId: string, workMs: number) => void
  /** Returns how long the account must wait for its next piece of work, in milliseconds. */
  readonly delayMs: (accountId: string) => number
}

/** The part of the time that one account may take in the long run. */
const shareMax = 0.25
/** Work that an account may do at once after a pause. Enough to read a few images of a megabyte. */
const freeWorkMs = 50
/**
 * Limit for the work that an account must make up for by waiting. It may have worked alone for a long time, before
 * another account came.
 */
const owedWorkMsMax = 100
/** How long an account counts as present after a request. Longer than the pauses between two lookups of a task. */
const presentMs = 10_000

type Seen = { readonly accountId: string; readonly atMs: number }

/** Creates the pace of one process. Nobody has worked yet. */
export function createAccountPace(monotonicMs = () => performance.now()): AccountPace {
  /** The latest request, and the latest one of another account. */
  let latest: Seen | undefined
  let latestOther: Seen | undefined
  /** When an account that works without a pause at its share would have done its work so far. */
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
    // Set again, so that the accounts that have worked last come last.
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
