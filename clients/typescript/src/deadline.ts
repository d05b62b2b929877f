import { DarkroomError } from './darkroomError.ts'

/** The end of a call, and of all that it waits for. */
export type Deadline = ReturnType<typeof openDeadline>

export type DeadlineOptions = {
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs: number
}

/** The longest time that timers take. */
const timerMsMax = 2 ** 31 - 1

/** Begins a deadline. It knows nothing of the clock's time of day, which may be wrong or set meanwhile. */
export function openDeadline({ signal: given, timeoutMs }: DeadlineOptions) {
  const endsAtMs = performance.now() + timeoutMs
  const timer = AbortSignal.timeout(Math.ceil(Math.max(0, Math.min(timeoutMs, timerMsMax))))
  const signal = given === undefined ? timer : AbortSignal.any([given, timer])

  /** Returns why the call is over, or `undefined` while it is not. */
  const overBecause = (): DarkroomError | undefined => {
    if (given?.aborted === true) {
      return new DarkroomError('The call was aborted.', { code: 'aborted', cause: given.reason })
    }
    return timer.aborted
      ? new DarkroomError(`The call took longer than ${timeoutMs} ms.`, { code: 'timeout' })
      : undefined
  }

  return {
    signal,
    overBecause,
    leftMs: () => Math.max(0, endsAtMs - performance.now()),
    /** Waits. Throws as soon as the call is over. */
    async sleep(ms: number): Promise<void> {
      await new Promise<void>((resolve) => {
        const wake = () => {
          clearTimeout(timeout)
          signal.removeEventListener('abort', wake)
          resolve()
        }
        const timeout = setTimeout(wake, Math.min(ms, timerMsMax))
        signal.addEventListener('abort', wake)
        if (signal.aborted) wake()
      })
      const over = overBecause()
      if (over !== undefined) throw over
    },
  }
}
