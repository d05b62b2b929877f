/**
 * Repeats a step while the page is looked at. The step returns how many milliseconds to wait for the next one, or
 * `undefined` when it was the last. Returns a function that stops it.
 * @param {(signal: AbortSignal) => Promise<number | undefined>} step
 */
export function repeat(step) {
  const stop = new AbortController()
  const { signal } = stop
  const go = async () => {
    while (!signal.aborted) {
      const pauseMs = await step(signal)
      if (pauseMs === undefined) return
      do await pause(pauseMs, signal)
      while (document.hidden && !signal.aborted)
    }
  }
  void go()
  return () => stop.abort()
}

/**
 * Waits, until the signal is aborted at most.
 * @param {number} ms
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
export function pause(ms, signal) {
  return new Promise((resolve) => {
    setTimeout(resolve, ms)
    signal.addEventListener('abort', () => resolve())
  })
}
