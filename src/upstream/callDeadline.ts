import { createStallTolerantDeadline } from '../domain/stallTolerantDeadline.ts'

type CallDeadline = {
  readonly signal: AbortSignal
  /** Stops the timer. Call this when the call has ended. */
  readonly clear: () => void
}

/**
 * Extra time for a call after our own process stood still (stopped by a signal, a suspended machine). Long
 * enough to read an answer that arrived meanwhile, and far shorter than the silence after which a worker
 * counts as lost.
 */
const afterStallMs = 1_500

/** Limit for all extra time of one call. Far shorter than the lease of the call. */
const extensionsMsMax = 3_000

/**
 * Starts a deadline that aborts after `timeoutMs`. The clock also counts time in which the process is
 * stopped. We pay for an answer that arrives during such a stop. So, after a stop, the call gets some extra
 * time to read the answer.
 */
export function startCallDeadline(timeoutMs: number, monotonicMs: () => number): CallDeadline {
  const passed = new AbortController()
  const bounds = { limitMs: timeoutMs, afterStallMs, extensionsMsMax }
  const deadline = createStallTolerantDeadline(bounds)
  let timer: NodeJS.Timeout | undefined
  const tick = () => {
    const delayMs = deadline.nextDelayMs(monotonicMs())
    if (delayMs === undefined) passed.abort(new Error(`no whole answer in ${timeoutMs} ms`))
    else timer = setTimeout(tick, delayMs)
  }
  tick()
  return { signal: passed.signal, clear: () => clearTimeout(timer) }
}
