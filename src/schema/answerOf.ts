import type { z } from 'zod'

/** What the code makes for an answer with this schema. */
export type AnswerOf<Schema extends z.ZodType> = Frozen<z.output<Schema>>

type Frozen<Value> = Value extends readonly (infer Item)[]
  ? readonly Frozen<Item>[]
  : Value extends object
    ? { readonly [Name in keyof Value]: Frozen<Value[Name]> }
    : Value
