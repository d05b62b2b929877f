import { useEffect, useState } from 'preact/hooks'

/**
 * Waits. Resolves at once when the signal is aborted.
 * @param {number} ms
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
export function pause(ms, signal) {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}

/**
 * Returns the current time, and renders again each second while `running`.
 * @param {boolean} running
 */
export function useClock(running) {
  const [nowMs, setNowMs] = useState(Date.now())
  useEffect(() => {
    if (!running) return undefined
    setNowMs(Date.now())
    const timer = setInterval(() => setNowMs(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [running])
  return nowMs
}
