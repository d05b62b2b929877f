type CallDeadline = {
  readonly signal: AbortSignal
  /** When the call is over. */
  readonly clear: () => void
}

const tickMs = 250

/** A tick this late was kept from coming: the process stood still. */
const stallMs = 200

/** For an answer that arrived while nobody could read it; below the silence that counts as a lost worker. */
const graceMs = 1_500

/** All extensions of one call together. Its lease outlasts them by far. */
const extensionsMsMax = 3_000

/**
 * Aborts after `timeoutMs` by a clock that goes on while the process is stopped (SIGSTOP, a paused
 * machine). A call whose time passed meanwhile has its answer waiting, perhaps, and paid for: there is
 * time to read it before the call is given up, within bounds.
 */
export function startCallDeadline(timeoutMs: number, monotonicMs: () => number): CallDeadline {
  const passed = new AbortController()
  let endsAtMs = monotonicMs() + timeoutMs
  let leftMs = extensionsMsMax
  let timer: NodeJS.Timeout | undefined
  const wait = (fromMs: number): void => {
    const delayMs = Math.min(tickMs, Math.max(1, Math.ceil(endsAtMs - fromMs)))
    timer = setTimeout(() => {
      const nowMs = monotonicMs()
      const stoodStill = nowMs > fromMs + delayMs + stallMs
      if (stoodStill) {
        const firstMs = Math.max(endsAtMs, nowMs)
        const extensionMs = Math.min(Math.max(0, nowMs + graceMs - firstMs), leftMs)
        leftMs -= extensionMs
        if (extensionMs > 0) endsAtMs = firstMs + extensionMs
      }
      if (nowMs < endsAtMs) wait(nowMs)
      else passed.abort(new Error(`no whole answer in ${timeoutMs} ms`))
    }, delayMs)
  }
  wait(monotonicMs())
  return { signal: passed.signal, clear: () => clearTimeout(timer) }
}
