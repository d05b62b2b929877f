type Absent<Value> = Extract<Value, null | undefined>

/** `Members` with each member that may be null or undefined made optional instead. */
type Defined<Members> = {
  readonly [
    Name in keyof Members as Absent<Members[Name]> extends never ? Name : never
  ]: Members[Name]
} & {
  readonly [Name in keyof Members as Absent<Members[Name]> extends never ? never : Name]?: Exclude<
    Members[Name],
    null | undefined
  >
}

/**
 * The members that have a value. Optional fields are absent in this code, never `undefined` or `null`, so
 * that they are absent in JSON too: write `...defined({ size, quality })`.
 */
export function defined<Members extends object>(members: Members): Defined<Members>
export function defined(members: object): object {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined && value !== null),
  )
}
