type Absent<Value> = Extract<Value, null | undefined>

/** The type `Members`, in which every member that can be null or undefined is optional instead. */
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
 * Returns the members that are neither null nor undefined. In this code and in its JSON, optional fields are
 * absent. Write `...defined({ size, quality })`.
 */
export function defined<Members extends object>(members: Members): Defined<Members>
export function defined(members: object): object {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined && value !== null),
  )
}
