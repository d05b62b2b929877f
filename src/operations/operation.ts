import type { Pool } from 'pg'
import type { List, ListPage } from '../domain/lists/list.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'

/**
 * What every operation works with. An operation is what an operator does. It returns the JSON that `darkroom --json` and
 * the admin API answer, or why it was not done.
 */
export type OperationDeps = {
  readonly pool: Pool
  /** Who asks. Each row of the audit has it. */
  readonly actor: Actor
}

/** `cli:USER@HOST` or `cli:DARKROOM_ACTOR`, or `admin:KEY_ID` for the admin API and the console. */
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

/** What an operation did, or why it was not done. */
export type Done<Value> = Promise<Result<Value, OperationFailure>>

/** Refuses an operation. `message` is a sentence. */
export function refuse(code: string, message: string) {
  return fail<OperationFailure>({ kind: 'refused', code, message })
}

/** Returns the failure for what does not exist. `what` completes the sentence "There is no ….". */
export function missing(what: string) {
  return fail<OperationFailure>({ kind: 'not_found', what })
}

/** Returns a value, or the failure for one that does not exist. */
export function found<Value>(
  value: Value | undefined,
  what: string,
): Result<Value, OperationFailure> {
  return value === undefined ? missing(what) : succeed(value)
}

/** Returns the failure of an operation as a sentence. */
export function failureText(failure: OperationFailure): string {
  return failure.kind === 'not_found' ? `There is no ${failure.what}.` : failure.message
}

/** Returns the code of a failure, as the audit and the answers of bulk operations have it. */
export function codeOf(failure: OperationFailure): string {
  return failure.kind === 'refused' ? failure.code : failure.kind
}

/** Refuses a wrong input. `message` is a sentence. */
export function invalidValue(param: string, message: string) {
  return fail<OperationFailure>({ kind: 'refused', code: 'invalid_value', message, param })
}

/** Returns a page of a list, or the failure of one that should begin after an id that is not in the list. */
export function listed<Row>(page: ListPage<Row>): Result<List<Row>, OperationFailure> {
  return page === 'unknown_after'
    ? invalidValue('after', '`after` must be the id of a row of this list.')
    : succeed(page)
}
