import type { Pool } from 'pg'

/**
 * What every operation works with. An operation is what an operator does. It returns the JSON that `darkroom --json` and
 * the admin API answer, or why it was not done.
 */
export type OperationDeps = {
  readonly pool: Pool
  /** Who asks. Each row of the audit has it. */
  readonly actor: Actor
}

/** `cli:USER@HOST`, or `admin:KEY_ID` for the admin API and the console. */
export type Actor = `cli:${string}` | `admin:${string}`

/** Why an operation was not done. Nothing is changed. */
export type OperationFailure =
  /** `what` completes the sentence "There is no ….", such as `API key "key_1"`. */
  | { readonly kind: 'not_found'; readonly what: string }
  /** `message` is a sentence. `param` names the wrong input; absent: the state of things does not allow it. */
  | {
      readonly kind: 'refused'
      readonly code: string
      readonly message: string
      readonly param?: string
    }

/** Returns the failure of an operation as a sentence. */
export function failureText(failure: OperationFailure): string {
  return failure.kind === 'not_found' ? `There is no ${failure.what}.` : failure.message
}

/** One page of a list. With `has_more` more rows follow the last one. */
export type List<Row> = {
  readonly object: 'list'
  readonly data: readonly Row[]
  readonly has_more: boolean
}

/** Returns one page of `rows`, which has one row more than `limit` when more follow. Without a limit, all of them. */
export function listOf<Row>(rows: readonly Row[], limit = rows.length): List<Row> {
  return { object: 'list', data: rows.slice(0, limit), has_more: rows.length > limit }
}
