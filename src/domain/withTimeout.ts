/** Thrown when work took longer than its limit. The work may still go on. */
export class TimeLimitError extends Error {
  override readonly name = 'TimeLimitError'

  constructor(limitMs: number) {
    super(`no answer in ${limitMs} ms`)
  }
}

/**
 * Returns the result of the work, or throws `TimeLimitError` after `limitMs`. The work itself is not stopped, but its late
 * result is ignored.
 */
export async function withTimeout<Value>(
  limitMs: number,
  work: () => Promise<Value>,
): Promise<Value> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new TimeLimitError(limitMs)), limitMs)
  try {
    return await Promise.race([work(), late.promise])
  } finally {
    clearTimeout(timer)
  }
}
