/** A timer this late was kept from firing: the process stood still, and the answer may be there already. */
const stallMs = 200

const slices = 10

/** Whatever happens, no answer is waited for longer than so many limits. */
const limitsMax = 3

/**
 * The answer to a question, or after `limitMs` an error: the question goes on, and what comes of it is
 * lost. For reads that cannot be cut off. Time in which this process was stopped does not count: the
 * limit is waited for in slices, and a stop in one of them begins all of it anew, within bounds.
 */
export async function within<Value>(limitMs: number, ask: () => Promise<Value>): Promise<Value> {
  const sliceMs = limitMs / slices
  const late = Promise.withResolvers<never>()
  let slicesMax = limitsMax * slices
  let timer: NodeJS.Timeout | undefined
  const arm = (left: number) => {
    const armedAtMs = performance.now()
    timer = setTimeout(() => {
      slicesMax -= 1
      const stoodStill = performance.now() > armedAtMs + sliceMs + stallMs
      const next = Math.min(stoodStill ? slices : left - 1, slicesMax)
      if (next > 0) arm(next)
      else late.reject(new Error(`no answer in ${limitMs} ms`))
    }, sliceMs)
  }
  arm(slices)
  try {
    return await Promise.race([ask(), late.promise])
  } finally {
    clearTimeout(timer)
  }
}
