/**
 * What PostgreSQL returns for a value: null stands for each optional field that is absent. `defined` makes the value of
 * it.
 */
export type Row<Value> = {
  readonly [Name in keyof Value]-?: object extends Pick<Value, Name>
    ? Exclude<Value[Name], undefined> | null
    : Value[Name]
}
