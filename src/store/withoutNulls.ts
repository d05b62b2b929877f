type WithoutNulls<Row> = {
  readonly [Name in keyof Row as null extends Row[Name] ? never : Name]: Row[Name]
} & {
  readonly [Name in keyof Row as null extends Row[Name] ? Name : never]?: Exclude<Row[Name], null>
}

/** The row as the domain likes it: what is null is absent. */
export function withoutNulls<Row extends object>(row: Row): WithoutNulls<Row>
export function withoutNulls(row: object): object {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null))
}
