/** A timer this late was kept from firing: the process stood still, and the answer may be there already. */
const stallMs = 500

/**
 * The answer to a question, or after `limitMs` an error: the question goes on, and what comes of it is
 * lost. For reads that cannot be cut off. Time in which this process was stopped does not count.
 */
export async function within<Value>(limitMs: number, ask: () => Promise<Value>): Promise<Value> {
  const late = Promise.withResolvers<never>()
  let timer: NodeJS.Timeout | undefined
  const arm = () => {
    const stalledAtMs = performance.now() + limitMs + stallMs
    timer = setTimeout(() => {
      if (performance.now() > stalledAtMs) arm()
      else late.reject(new Error(`no answer in ${limitMs} ms`))
    }, limitMs)
  }
  arm()
  try {
    return await Promise.race([ask(), late.promise])
  } finally {
    clearTimeout(timer)
  }
}
