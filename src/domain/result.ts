/** A value, or an expected failure. The failure is returned as a value, not thrown. */
export type Result<Value, Failure> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly failure: Failure }

export function succeed<Value>(value: Value): { readonly ok: true; readonly value: Value } {
  return { ok: true, value }
}

/** Returns what `map` makes of a value. A failure stays as it is. */
export function mapValue<Value, Mapped, Failure>(
  result: Result<Value, Failure>,
  map: (value: Value) => Mapped,
): Result<Mapped, Failure> {
  return result.ok ? succeed(map(result.value)) : result
}

export function fail<Failure>(failure: Failure): { readonly ok: false; readonly failure: Failure } {
  return { ok: false, failure }
}
