/**
 * Returns a function that returns `value` at its first call, and throws at every later call. After the first
 * call the function no longer refers to the value. Use it for a value of many bytes: an object that carries the
 * function through an upstream call of minutes then does not keep those bytes in memory.
 */
export function takeOnce<Value>(value: Value): () => Value {
  let left: readonly [Value] | undefined = [value]
  return () => {
    if (left === undefined) throw new Error('Bug: a value was taken twice')
    const [taken] = left
    left = undefined
    return taken
  }
}
