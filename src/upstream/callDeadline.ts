import { createStallTolerantDeadline } from '../domain/stallTolerantDeadline.ts'

type CallDeadline = {
  readonly signal: AbortSignal
  /** Stops the timer. To be called when the call is over. */
  readonly clear: () => void
}

/** Enough to read an answer that arrived during a stall; far below the silence that counts as a lost worker. */
const afterStallMs = 1_500

/** The lease of the call lasts far longer. */
const extensionsMsMax = 3_000

/**
 * Aborts `timeoutMs` after now. The clock also counts time in which the process is stopped; an answer that
 * arrived meanwhile is paid for, so the call then gets some time to read it.
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
