/**
 * The answer to a question, or after `limitMs` an error: the question goes on, and what comes of it is
 * lost. For reads that cannot be cut off.
 */
export async function within<Value>(limitMs: number, ask: () => Promise<Value>): Promise<Value> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(`no answer in ${limitMs} ms`)), limitMs)
  try {
    return await Promise.race([ask(), late.promise])
  } finally {
    clearTimeout(timer)
  }
}
