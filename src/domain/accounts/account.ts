import { randomText } from '../ids.ts'
import type { ModelId } from '../models/models.ts'

/**
 * The form of an account's name. A name starts with a letter or digit, so that it cannot look like an option
 * or a path.
 */
export const accountNamePattern = /^[0-9A-Za-z][0-9A-Za-z._@+-]{0,99}$/

/** The form of an operator's name for a topup. */
export const topupIdPattern = /^[\x21-\x7e]{1,100}$/

/** Limit for one deposit. Far below `accountCreditsMax`. */
export const depositCreditsMax = 1_000_000_000_000

/**
 * Limit for all credits of an account, including spent ones. Up to this number every JSON reader is exact.
 */
export const accountCreditsMax = Number.MAX_SAFE_INTEGER

/** Returns a new account id: `acct_` and 16 random letters or digits. */
export function newAccountId(): string {
  return `acct_${randomText(16)}`
}

/** The account of a valid API key. The secret itself is used for authentication only and not passed on. */
export type Caller = {
  readonly accountId: string
  readonly keyId: string
  /** The models that the account may use. Absent: all models. */
  readonly models?: readonly ModelId[]
}
