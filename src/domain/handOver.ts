/**
 * Returns a function that returns `value` once and does not keep it. Use it for a value of many bytes: what
 * holds the function during a call of minutes does not hold the value. Throws when it is called again.
 */
export function handOver<Value>(value: Value): () => Value {
  let left: readonly [Value] | undefined = [value]
  return () => {
    if (left === undefined) throw new Error('Bug: a value was taken twice')
    const [taken] = left
    left = undefined
    return taken
  }
}
