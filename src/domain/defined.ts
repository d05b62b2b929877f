type Absent<Value> = Extract<Value, null | undefined>

/** `Members`, in which each member that can be null or undefined is optional instead. */
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
 * The members that are neither null nor undefined. Optional fields are absent in this code and in its JSON:
 * write `...defined({ size, quality })`.
 */
export function defined<Members extends object>(members: Members): Defined<Members>
export function defined(members: object): object {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined && value !== null),
  )
}
