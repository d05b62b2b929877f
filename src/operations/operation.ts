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

/** Returns the code of a failure, as the audit and the answers of bulk operations have it. */
export function codeOf(failure: OperationFailure): string {
  return failure.kind === 'refused' ? failure.code : failure.kind
}

/** The failure for a wrong input. `message` is a sentence. */
export function invalidValue(param: string, message: string): OperationFailure {
  return { kind: 'refused', code: 'invalid_value', message, param }
}

/** The failure of a list that should go on after an id that is not in it. */
export const unknownAfter = invalidValue('after', '`after` must be the id of a row of this list.')

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

/** Returns the page that must be read for `listOf`: one row more. */
export function pageOf<Page extends { readonly limit?: number }>(page: Page): Page {
  return page.limit === undefined ? page : { ...page, limit: page.limit + 1 }
}
